#!/usr/bin/env python3
"""Attacks the program with bad inputs and kills. See README.md."""

import argparse
import json
import multiprocessing
import os
import pickle
import random
import shutil
import sys
import tempfile
import time
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path

import kills
import workspace
from checks import Program, crash, digest, error_names, leftovers, not_finite, snapshot
from containers import seal_dataset, seal_index
from mutate import ANY, SAID, SAME, mutate
from parquet import crafted
from readers import line

#: Share of the inputs of each group of readers.
WEIGHTS = {"models": 24, "tables": 14, "manifest": 6, "index": 7, "comparison": 8, "clicks": 8, "LETOR": 8, "judgments": 4,
           "runs": 3}
#: Ways to put something else in the place of a file, each one in a hundred.
PLACES = ["folder", "link", "dangling link", "missing", "other name"]


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
    report(table, failures, work, space)
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
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds a command may take [60]")
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
            folder = place(reader, space, scratch / "reference", "plain", (space.path / reader.source).read_bytes())
            end = program.run(folder.line(command), folder.path)
            if end.code not in (0, 1):
                print(f"skipped, as it fails on the sound file: {command}\n  {end.text().strip()[:300]}", file=sys.stderr)
            else:
                space.references[reader.name, command] = (end.code, digest(folder.out), folder.printed(end), end.notes())
    space.readers = [reader for reader in space.readers if usable(reader, space)]
    kills.prepare(program, space, run)
    space.snapshot = snapshot(space.path)
    stored.write_bytes(pickle.dumps(space))
    return space


def usable(reader, space):
    reader.commands = [command for command in reader.commands if (reader.name, command) in space.references]
    return reader.commands


class Case:
    """The folder of one input: the mutated file in its place, and an empty folder for results."""

    def __init__(self, path, space, names, target):
        self.path, self.out, self.space, self.names, self.target = path, path / "out", space, names, target

    def line(self, command):
        return line(command, **self.names)

    def printed(self, end):
        """Standard output without the name of the case."""
        return end.out.replace(os.fsencode(self.path), b"CASE")


def place(reader, space, path, how, data):
    """Lays the mutated file out."""
    if path.exists():
        shutil.rmtree(path)
    (path / "out").mkdir(parents=True)
    names = {"W": str(space.path), "out": str(path / "out"), "data": str(path / "data"), "comparison": str(path / "comparison")}
    if reader.folder:
        shutil.copytree(space.path / reader.folder, path / reader.folder, symlinks=True)
        target = path / reader.source
        target.unlink()
    else:
        (path / "in").mkdir()
        name = Path(reader.source).name
        target = path / "in" / (name if how != "other name" else "bad\udcff\udcfe" + name)
    names["in"] = str(target)
    if how == "folder":
        target.mkdir()
    elif how == "dangling link":
        target.symlink_to("nowhere")
    elif how == "link":
        (path / "real").write_bytes(data)
        target.symlink_to(path / "real")
    elif how != "missing":
        target.write_bytes(data)
    return Case(path, space, names, target)


def begin(program, space, work):
    global CONTEXT
    CONTEXT = program, space, work


def attempt(job):
    kind, seed, index = job
    program, space, work = CONTEXT
    if kind == "kill":
        return kills.attempt(program, space, work / "cases" / f"k{seed}-{index}", seed, index)
    return attack(program, space, work / "cases" / f"i{seed}-{index}", seed, index)


def attack(program, space, path, seed, index):
    """One bad input: made, given to a command, judged."""
    rng = random.Random(f"{seed}:{index}")
    groups = space.groups()
    reader = rng.choice(groups[rng.choices(list(groups), [WEIGHTS.get(name, 2) for name in groups])[0]])
    command = rng.choice(reader.commands)
    how = rng.choice(PLACES) if rng.random() < 0.05 else "plain"
    data, expectation, mutation = (space.path / reader.source).read_bytes(), SAME, how
    if how == "plain":
        data, expectation, mutation = mutate(rng, reader.form, data)
    elif how != "link":
        expectation = ANY
    rows = None
    if reader.group == "tables" and how == "plain" and rng.random() < 0.35:
        data, n = crafted(rng, Path(reader.source).name, 80)
        expectation, mutation, rows = ANY, "crafted", {Path(reader.source).name: n}
    case = place(reader, space, path, how, data)
    protected = reader.protected and how != "other name" and mutation not in ("edit_array", "edit_metadata", "repaired_bytes")
    if reader.folder == "data" and how == "plain" and (rows or rng.random() < (0.2 if reader.group == "index" else 0.5)):
        sealed = seal_index(case.target.parent) if reader.group == "index" else seal_dataset(path / "data", rows)
        protected, mutation = protected and not sealed, mutation + ", sealed" * sealed
    before = {name: value for name, value in snapshot(path).items() if not name.startswith(os.fsencode(case.out))}
    end = program.run(case.line(command), path)
    code, files, out, notes = space.references[reader.name, command]
    found = list(crash(end, program.memory))
    if not end.late and end.code in (0, 1, 2) and not found:
        found += error_names(end, {case.target.name if how != "other name" else "bad", reader.folder or case.target.name})
        results = digest(case.out)
        printed = case.printed(end)
        same = end.code == code and results == files and (files or reader.changes_input or printed == out)
        # What doctor prints is about the file, not made from it.
        said = bool(end.notes() - notes) or end.code == 1 and code == 0 or command.startswith("doctor")
        if end.code in (0, 1) and not same and not said:
            if protected or expectation == SAME:
                found.append(("silent change", f"{mutation}: the result differs, exit code {end.code}, no note"))
        if expectation == SAID and end.code == 0 and not said and printed == out and not reader.changes_input:
            found.append(("silently skipped", mutation))
        bad = not_finite(case.out)
        if bad and end.code == 0:
            found.append(("score is not finite", bad))
        if end.code == 2 and results and reader.group != "comparison":
            found.append(("an error left a result", str(sorted(results))))
    if not end.late and end.code >= 0:
        left = leftovers(path)
        if left:
            found.append(("temporary file left", left[0][len(str(path)):]))
        after = snapshot(path)
        changed = [name for name in before if after.get(name) != before[name] and not rebuilt(name, reader)]
        if changed and not reader.changes_input:
            found.append(("input changed", os.fsdecode(changed[0])[len(str(path)):]))
    outcome = {0: "accepted", 1: "accepted", 2: "error"}.get(end.code, "crashed")
    if found:
        (path / "command").write_text(" ".join(end.argv).encode("utf-8", "replace").decode() + "\n")
        failure = {"reader": reader.name, "mutation": mutation, "found": found, "code": end.code}
        (path / "failure.json").write_text(json.dumps(failure, indent=1))
    else:
        shutil.rmtree(path)
    identity = path.name
    return identity, reader.group, outcome, [(kind, f"{reader.name}, {mutation}: {detail}", command) for kind, detail in found]


def rebuilt(name, reader):
    """The index belongs to the program, which makes a damaged one again."""
    return b"/data/index" in name or name.endswith((b"/stdout", b"/stderr"))


def report(table, failures, work, space):
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
