#!/usr/bin/env python3
"""Attacks the program with bad inputs and kills. See README.md."""

import argparse
import multiprocessing
import pickle
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path

import inputs
import kills
import workspace
from checks import Program, digest, snapshot
from containers import seal_dataset
from readers import DATASETS


def main():
    options = arguments()
    work = Path(options.work or tempfile.mkdtemp(prefix="matchrank-attack-")).resolve()
    program = Program(str(Path(options.program).resolve()), options.timeout, options.memory << 20)
    space = prepare(replace(program, seconds=10 * program.seconds), work, options.seed)
    if options.replay:
        return replay(options.replay, program, space, work)
    started = time.time()
    failures, table = [], defaultdict(Counter)
    jobs = [("input", options.seed, i) for i in range(options.inputs)]
    jobs += [("kill", options.seed, i) for i in range(options.kills)]
    context = multiprocessing.get_context("fork")
    with context.Pool(options.jobs, initializer=begin, initargs=(program, space, work)) as pool:
        for done, (identity, row, outcome, found) in enumerate(pool.imap_unordered(attempt, jobs, chunksize=4), 1):
            table[row][outcome] += 1
            table[row]["failures"] += bool(found)
            failures += [(identity, row, *failure) for failure in found]
            if done % 500 == 0:
                seconds = time.time() - started
                print(f"{done} of {len(jobs)}, {len(failures)} failures, {seconds:.0f} s", file=sys.stderr, flush=True)
    if snapshot(space.path) != space.snapshot:
        failures.append(("workspace", "all", "a shared input was changed", "", ""))
    report(table, failures, work)
    failed = len({identity for identity, *_ in failures})
    if not failed and not options.work:
        shutil.rmtree(work)
    print(f"{len(jobs) - failed} passed, {failed} failed")
    return 1 if failed else 0


def arguments():
    parser = argparse.ArgumentParser(description="Attack matchrank with bad inputs and kills.")
    parser.add_argument("--program", default="target/release/matchrank", help="the program [target/release/matchrank]")
    parser.add_argument("--inputs", type=int, default=1000, help="bad inputs [1000]")
    parser.add_argument("--kills", type=int, default=50, help="writing commands that are killed or interrupted [50]")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time [2]")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds of the processor a command may take, and a tenth of those of the clock [60]")
    parser.add_argument("--memory", type=int, default=4096, help="MiB of address space a command may take [4096]")
    parser.add_argument("--work", help="folder for the workspace and what failed [a temporary one, removed if all passed]")
    parser.add_argument("--replay", metavar="ID", help="run one case again, with --work of the run that reported it")
    return parser.parse_args()


def prepare(program, work, seed):
    """The workspace, made or found, with the result of every command on the sound files."""
    stored = work / "workspace.pickle"
    if stored.exists():
        return pickle.loads(stored.read_bytes())
    (work / "cases").mkdir(parents=True, exist_ok=True)
    scratch = work / "scratch"
    scratch.mkdir(exist_ok=True)

    def run(argv):
        end = program.run([*argv, *(["--seed", str(seed)] if argv[0] == "simulate" else [])], scratch)
        if end.code != 0:
            sys.exit(f"the workspace cannot be made: {' '.join(argv)}\n{end.text()}")

    space = workspace.make(run, work / "workspace")
    for reader in space.readers:
        for command in reader.commands:
            case = inputs.place(reader, space, scratch / "reference", "plain", (space.path / reader.source).read_bytes())
            end = program.run(case.line(command), case.path)
            if end.code not in (0, 1):
                print(f"skipped, as it fails on the sound file: {command}\n  {end.text().strip()[:300]}", file=sys.stderr)
            else:
                space.references[reader.name, command] = (end.code, digest(case.out), case.printed(end), end.notes())
    space.readers = [reader for reader in space.readers if usable(reader, space)]
    check_seals(program, space, scratch / "sealed")
    kills.prepare(program, space, run)
    space.snapshot = snapshot(space.path)
    stored.write_bytes(pickle.dumps(space))
    return space


def check_seals(program, space, folder):
    """Sound datasets whose hashes were made again open: else no sealed table would get past the hashes."""
    for name in DATASETS:
        shutil.copytree(space.path / name, folder / name)
        sealed = seal_dataset(folder / name)
        end = program.run(["train", "bm25", "--data", str(folder / name), "--out", str(folder / "m")], folder)
        if not sealed or end.code != 0:
            sys.exit(f"{name}: the program hashes datasets in another way than containers.py\n{end.text()}")


def usable(reader, space):
    reader.commands = [command for command in reader.commands if (reader.name, command) in space.references]
    return reader.commands


def begin(program, space, work):
    global CONTEXT
    CONTEXT = program, space, work


def attempt(job):
    kind, seed, index = job
    program, space, work = CONTEXT
    identity = f"{kind[0]}{seed}-{index}"
    try:
        return (kills if kind == "kill" else inputs).attempt(program, space, work / "cases" / identity, seed, index)
    except Exception:
        # A fault of these scripts ends one case, not the run, and counts as a failure.
        return identity, kind, "crashed", [("the checker failed", traceback.format_exc()[-1000:], "")]


def report(table, failures, work):
    """What happened, per group of readers, and every kind of failure once."""
    columns = ["runs", "error", "accepted", "crashed", "finished", "ended", "failures"]
    print(f"{'':30}" + "".join(f"{name:>10}" for name in columns))
    for row in sorted(table):
        counts = table[row]
        counts["runs"] = sum(counts[name] for name in columns[1:-1])
        print(f"{row:30}" + "".join(f"{counts[name] or '':>10}" for name in columns))
    kinds = defaultdict(list)
    for identity, row, kind, detail, command in failures:
        kinds[kind if kind.startswith("panic") else f"{row}: {kind}"].append((identity, detail, command))
    for kind, found in sorted(kinds.items(), key=lambda item: -len(item[1])):
        print(f"\n{len(found):5}  {kind}")
        for identity, detail, command in found[:3]:
            print(f"       {identity}  {detail[:180]}\n         {command[:180]}")
    if failures:
        print(f"\nkept in {work / 'cases'}; run one again with --replay ID --work {work}")


def replay(identity, program, space, work):
    """Runs one case again and shows all of it."""
    kind, (seed, index) = identity[0], identity[1:].split("-")
    begin(program, space, work)
    _, row, outcome, found = attempt(("kill" if kind == "k" else "input", int(seed), int(index)))
    folder = work / "cases" / identity
    for name in ("command", "stdout", "stderr", "failure.json"):
        if (folder / name).exists():
            print(f"== {name}\n{(folder / name).read_bytes()[:3000].decode('utf-8', 'replace')}")
    print(f"{row}: {outcome}, {'failed' if found else 'passed'}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
