"""One bad input: made, laid out, given to a command, judged."""

import json
import os
import random
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from checks import crash, digest, error_names, leftovers, not_finite, snapshot
from containers import seal_dataset, seal_index
from mutate import ANY, SAID, SAME, mutate
from parquet import crafted
from readers import DATASETS, Reader, line

#: Share of the inputs of each group of readers; 2 for all others.
WEIGHTS = {"models": 24, "tables": 14, "manifest": 6, "index": 7, "comparison": 8, "clicks": 8, "LETOR": 8, "judgments": 4,
           "runs": 3, "folds": 4, "weights": 3, "former datasets": 3}
#: What may be put in the place of a file.
PLACES = ["folder", "link", "dangling link", "missing", "other name"]
#: Mutations that make the checksum of a model file right.
REPAIRED = ("edit_array", "edit_metadata", "repaired_bytes")


@dataclass
class Case:
    """The folder of one input: the mutated file in its place, and an empty folder for results."""

    reader: Reader
    path: Path
    target: Path
    names: dict

    @property
    def out(self):
        return self.path / "out"

    def line(self, command):
        return line(command, **self.names)

    def printed(self, end):
        """Standard output without the name of the case and without times."""
        return re.sub(rb"[\d.]+ ms\b", b"", end.out.replace(os.fsencode(self.path), b"CASE"))

    def inputs(self):
        """Files of the case that no command may change; an index belongs to the program, which makes a damaged one again."""
        index = f"{self.reader.folder}/index"
        own = tuple(os.fsencode(self.path / name) for name in ("out", index, "stdout", "stderr", "tmp"))
        return {name: value for name, value in snapshot(self.path).items() if not name.startswith(own)}


def place(reader, space, path, how, data):
    """Lays the mutated file out."""
    shutil.rmtree(path, ignore_errors=True)
    (path / "out").mkdir(parents=True)
    if reader.folder:
        shutil.copytree(space.path / reader.folder, path / reader.folder, symlinks=True)
        target = path / reader.source
        target.unlink()
    else:
        (path / "in").mkdir()
        name = Path(reader.source).name
        target = path / "in" / ("bad\udcff\udcfe" + name if how == "other name" else name)
    if how == "folder":
        target.mkdir()
    elif how == "dangling link":
        target.symlink_to("nowhere")
    elif how == "link":
        (path / "real").write_bytes(data)
        target.symlink_to(path / "real")
    elif how != "missing":
        target.write_bytes(data)
    names = {"W": space.path, "in": target, "out": path / "out", reader.folder: path / reader.folder}
    return Case(reader, path, target, {name: str(value) for name, value in names.items()})


def attempt(program, space, path, seed, index):
    """Makes the input of this number and gives it to a command. Returns id, group, outcome and failures."""
    rng = random.Random(f"{seed}:{index}")
    groups = space.groups()
    reader = rng.choice(groups[rng.choices(list(groups), [WEIGHTS.get(name, 2) for name in groups])[0]])
    command = rng.choice(reader.commands)
    how = rng.choice(PLACES) if rng.random() < 0.05 else "plain"
    data, rows = (space.path / reader.source).read_bytes(), None
    if how != "plain":
        expectation, mutation = SAME if how == "link" else ANY, how
    elif reader.group == "tables" and rng.random() < 0.35:
        data, n = crafted(rng, Path(reader.source).name, 80)
        expectation, mutation, rows = ANY, "crafted", {Path(reader.source).name: n}
    else:
        data, expectation, mutation = mutate(rng, reader.form, data)
    case = place(reader, space, path, how, data)
    protected = reader.protected and how != "other name" and mutation not in REPAIRED
    if reader.folder in DATASETS and how == "plain" and (rows or rng.random() < (0.2 if reader.group == "index" else 0.5)):
        sealed = seal_index(case.target.parent) if reader.group == "index" else seal_dataset(path / reader.folder, rows)
        protected, mutation = protected and not sealed, mutation + ", sealed" * sealed
    before = case.inputs()
    end = program.run(case.line(command), path)
    found = list(crash(end, program.memory))
    if not found and end.code in (0, 1, 2):
        names = {"bad" if how == "other name" else case.target.name, reader.folder or case.target.name}
        found += error_names(end, names)
        found += judge(case, command, end, space.references[reader.name, command], SAME if protected else expectation)
    if not end.late and end.code >= 0:
        found += [("temporary file left", left[len(str(path)):]) for left in leftovers(path)[:1]]
        after = {} if reader.changes_input else case.inputs()
        changed = [name for name in before if not reader.changes_input and after.get(name) != before[name]]
        found += [("input changed", os.fsdecode(name)[len(str(path)):]) for name in changed[:1]]
    if found:
        (path / "command").write_text(" ".join(end.argv).encode("utf-8", "replace").decode() + "\n")
        failure = {"reader": reader.name, "mutation": mutation, "found": found, "code": end.code}
        (path / "failure.json").write_text(json.dumps(failure, indent=1))
    else:
        shutil.rmtree(path)
    outcome = {0: "accepted", 1: "accepted", 2: "error"}.get(end.code, "crashed")
    return path.name, reader.group, outcome, [(kind, f"{reader.name}, {mutation}: {detail}", command) for kind, detail in found]


def judge(case, command, end, reference, expectation):
    """Compares the results with those of the sound file."""
    code, files, out, notes = reference
    results, printed = digest(case.out), case.printed(end)
    same = end.code == code and results == files and (files or case.reader.changes_input or printed == out)
    # What doctor prints is about the file, not made from it.
    said = bool(end.notes() - notes) or end.code == 1 and code == 0 or command.startswith("doctor")
    if expectation == SAME and end.code != 2 and not same and not said:
        yield "silent change", f"the result differs, exit code {end.code}, no note"
    if expectation == SAID and end.code == 0 and not said and printed == out and not case.reader.changes_input:
        yield "silently skipped", "the summary is that of the sound file"
    bad = not_finite(case.out)
    if bad and end.code == 0:
        yield "score is not finite", bad
    # A comparison keeps what it has done.
    if end.code == 2 and results and not command.startswith("compare"):
        yield "an error left a result", str(sorted(results))
