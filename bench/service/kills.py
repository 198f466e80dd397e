#!/usr/bin/env python3
"""Kills a process that appends to a store, at random moments, and checks what is left.

    cargo build --release -p matchrank && cargo build --release -p matchrank-server --example store_load
    python3 bench/service/kills.py --kills 300
    python3 bench/service/kills.py --kills 20 --faults        # as root: full disk (tmpfs) and failing fsync, too

After every kill: each acknowledged event is stored once under its acknowledged sequence, each acknowledged document has
its version or a later one. After every --learn-every kills: the checkpoint of the model and the replay of the events
after it give the bytes of `matchrank update` over the exported lessons, for sparse preferences and for a perceptron.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release"
LOAD, MATCHRANK = TARGET / "examples" / "store_load", TARGET / "matchrank"

SHIM = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include <dlfcn.h>
static long n;
static int fails(void) {
    const char *after = getenv("FAIL_SYNC_AFTER");
    return after && __sync_add_and_fetch(&n, 1) > atol(after);
}
int fsync(int fd) {
    if (fails()) { errno = EIO; return -1; }
    return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(fd);
}
int fdatasync(int fd) {
    if (fails()) { errno = EIO; return -1; }
    return ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(fd);
}
"""


def run(*args, stdin=None, cwd=None):
    done = subprocess.run([str(a) for a in args], stdin=stdin, cwd=cwd, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, args))}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def make_models(folder):
    """A small dataset, a sparse-preference model of it, and a perceptron."""
    docs = "id,title\n" + "".join(
        f"d{i},{'trainers for running' if i % 2 == 0 else 'hat for the sun'} model{i // 2}\n" for i in range(12)
    )
    log = "query,document,clicks\n" + "".join(
        f"{['sneaker', 'lid', 'cheap sneaker', 'cheap lid'][i % 4]},d{(2 * (i // 4) + i % 2) % 12},{1 + i % 3}\n"
        for i in range(60)
    )
    lists = "".join(f"{i % 3} qid:{i // 4} 1:{i % 7}.5 2:{i % 5}\n" for i in range(40))
    for name, content in [("docs.csv", docs), ("log.csv", log), ("train.txt", lists)]:
        (folder / name).write_text(content)
    run(MATCHRANK, "ingest", "--clicks", "log.csv", "--documents", "docs.csv", "--out", "shop", "--quiet", cwd=folder)
    settings = "variant=sparse margin=0.5 c=0.5 lambda=0.001 shrink_every=7 tuples=500 blend=1".split()
    settings = [part for setting in settings for part in ("--set", setting)]
    run(MATCHRANK, "train", "sparse-preference", "--data", "shop", *settings, "--out", "words.model", cwd=folder)
    run(MATCHRANK, "train", "perceptron", "--letor", "train.txt", "--out", "lists.model", cwd=folder)


class Acknowledged:
    """What processes have acknowledged so far."""

    def __init__(self):
        self.events, self.documents = {}, {}

    def note(self, line):
        parts = line.split()
        if len(parts) == 3 and parts[0] == "event":
            known = self.events.setdefault(parts[1], int(parts[2]))
            assert known == int(parts[2]), f"{parts[1]} was stored twice, as {known} and {parts[2]}"
        elif len(parts) == 4 and parts[0] == "document":
            self.documents[parts[1]] = (int(parts[3]), parts[2])

    def check(self, state):
        events, documents, checkpoint = {}, {}, None
        for line in run(LOAD, "check", state).splitlines():
            parts = line.split()
            if parts[0] == "event":
                assert parts[1] not in events, f"{parts[1]} is there twice"
                events[parts[1]] = int(parts[2])
            elif parts[0] == "document":
                documents[parts[1]] = (int(parts[3]), parts[2])
            else:
                checkpoint = int(parts[2])
        for event, sequence in self.events.items():
            assert events.get(event) == sequence, f"{event} was acknowledged as {sequence}, found {events.get(event)}"
        for document, (sequence, version) in self.documents.items():
            found = documents.get(document)
            assert found and (found[0] > sequence or found == (sequence, version)), f"{document}: {found}"
        return len(events), checkpoint


def append(state, threads, model, pause=None, env=None):
    """Starts an appending process, kills it after a pause; returns its lines and exit code."""
    process = subprocess.Popen(
        [str(LOAD), "append", str(state), str(threads), *map(str, model)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **(env or {})},
    )
    lines, timer = [], None
    for line in process.stdout:
        # A line that the kill has cut was not received.
        if not line.endswith("\n"):
            break
        if line.strip() == "ready" and pause is not None:
            timer = threading.Timer(pause, lambda: process.send_signal(signal.SIGKILL))
            timer.start()
        lines.append(line)
    process.wait()
    if timer:
        timer.cancel()
    return lines, process.returncode, process.stderr.read()


def same_model(folder, state, base, data, kind):
    """Checkpoint and replay, beside `matchrank update` over the exported lessons."""
    online, offline = folder / "online.model", folder / "offline.model"
    run(LOAD, "learn", state, base, data, online)
    tuples, lists = folder / "tuples.jsonl", folder / "lists.jsonl"
    run(LOAD, "lessons", state, tuples, lists)
    lessons = tuples if kind == "tuples" else lists
    extra = ["--data", data] if kind == "tuples" else []
    with open(lessons) as lines:
        done = subprocess.run(
            [str(MATCHRANK), "update", str(base), f"--{kind}", "-", *map(str, extra), "--out", str(offline), "--quiet"],
            stdin=lines, capture_output=True, text=True,
        )
    # Exit code 1: some lines were left out.
    assert done.returncode in (0, 1), done.stderr
    assert online.read_bytes() == offline.read_bytes(), f"{base.name}: checkpoint and replay differ from update"
    return sum(1 for _ in open(lessons))


def kills(args, folder):
    runs = [("tuples", folder / "words.model", folder / "shop"), ("lists", folder / "lists.model", "-")]
    for kind, base, data in runs:
        state, acknowledged, n_lessons = folder / f"state-{kind}", Acknowledged(), 0
        n_events = checkpoint = 0
        number = args.kills // 2 + (args.kills % 2 if kind == "tuples" else 0)
        started = time.time()
        for kill in range(1, number + 1):
            pause = random.random() ** 2 * args.longest
            for line in append(state, args.threads, (base, data), pause)[0]:
                acknowledged.note(line)
            n_events, checkpoint = acknowledged.check(state)
            if kill % args.learn_every == 0 or kill == number:
                n_lessons = same_model(folder, state, base, data, kind)
            if kill % 25 == 0 or kill == number:
                print(f"{kind}: {kill} kills, {n_events} events stored, {len(acknowledged.events)} acknowledged, "
                      f"checkpoint at {checkpoint}, {n_lessons} lessons, {time.time() - started:.0f} s", flush=True)
        assert not number or acknowledged.events, "nothing was acknowledged"


def fault(folder, name, state, env, free):
    """A process whose disk fails ends with exit code 3; the next one finds everything that was acknowledged."""
    acknowledged = Acknowledged()
    lines, code, message = append(state, 8, (folder / "words.model", folder / "shop"), env=env)
    assert code == 3, f"{name}: exit code {code}, {message}"
    for line in lines:
        acknowledged.note(line)
    assert acknowledged.events, f"{name}: nothing was acknowledged before the failure"
    free()
    n_events, _ = acknowledged.check(state)
    for line in append(state, 8, (folder / "words.model", folder / "shop"), pause=1.0)[0]:
        acknowledged.note(line)
    n_after, _ = acknowledged.check(state)
    assert n_after > n_events, f"{name}: nothing is stored after the recovery"
    same_model(folder, state, folder / "words.model", folder / "shop", "tuples")
    print(f"{name}: exit code 3 after {len(lines)} lines; recovered {n_events} events, then stored {n_after - n_events} more"
          f"\n  {message.strip()}", flush=True)


def faults(folder):
    source, shim = folder / "shim.c", folder / "shim.so"
    source.write_text(SHIM)
    run("cc", "-shared", "-fPIC", "-o", shim, source, "-ldl")
    for after in (20, 60, 150, 400):
        env = {"LD_PRELOAD": str(shim), "FAIL_SYNC_AFTER": str(after)}
        fault(folder, f"fsync fails after {after}", folder / f"state-sync-{after}", env, lambda: None)
    mount = folder / "small"
    mount.mkdir()
    for size in (6, 9):
        run("mount", "-t", "tmpfs", "-o", f"size={size}m", "tmpfs", mount)
        try:
            def free():
                run("mount", "-o", "remount,size=200m", mount)
            fault(folder, f"disk of {size} MiB is full", mount / "state", {}, free)
        finally:
            run("umount", mount)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--threads", type=int, default=16, help="threads that append")
    parser.add_argument("--longest", type=float, default=1.0, help="seconds until a kill, at most")
    parser.add_argument("--learn-every", type=int, default=5, help="kills from one comparison of models to the next")
    parser.add_argument("--faults", action="store_true", help="also a full disk and a failing fsync; needs root and cc")
    parser.add_argument("--seed", type=int, default=None)
    args = parser.parse_args()
    random.seed(args.seed)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        make_models(folder)
        kills(args, folder)
        if args.faults:
            faults(folder)


if __name__ == "__main__":
    main()
