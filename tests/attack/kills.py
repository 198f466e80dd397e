"""Writing commands that are killed, or asked to end, at any moment.

A command replaces something that is there already. Whatever happens to it, the former output or the whole new one must be
there afterwards, and the same command once more must succeed and leave no temporary file. Commands are ended by SIGKILL
at a random time, by SIGKILL at every rename, sync and removal (strace injects it), and by SIGINT and SIGTERM.
"""

import hashlib
import json
import random
import shutil
import signal
from dataclasses import dataclass

from checks import crash, leftovers
from readers import FOLDS, line
from workspace import write_json_lines

CALLS = "rename,renameat,renameat2,fsync,fdatasync,unlink,unlinkat,rmdir,mkdir,mkdirat,link,linkat"
MODES = ["kill", "strace", "strace", "interrupt", "terminate"]
ENDS = {"interrupt": (signal.SIGINT, (130, -2)), "terminate": (signal.SIGTERM, (143, -15))}


@dataclass
class Target:
    """A command that writes `outputs`; {C} is the folder of the case, where `former` makes what was there before."""

    name: str
    former: str
    command: str
    outputs: list
    #: Opens what is there; for outputs that may also be a saved state of unfinished work.
    opens: str = ""
    partial: bool = False
    #: Running it again goes on, so that its second result is not its first.
    goes_on: bool = False
    #: Work that was saved unfinished ends, when it is run again, as if nothing had happened.
    ends_alike: bool = False


B = "--data {W}/big/data"
RANK = f"rank --model {{W}}/big/bm25.model {B}"
INGEST = ("ingest --clicks {W}/big/log/clicks.csv --documents {W}/big/log/documents.jsonl --queries {W}/big/log/queries.tsv "
          "--text title,url --judgments validation={W}/big/log/validation.qrels --judgments test={W}/big/log/test.qrels "
          "--force --out {C}/data")
SVM = "train ranksvm --letor {W}/big/train.txt --out {C}/m"
BM25 = f"train bm25 {B} --out {{C}}/m"
LISTS = "--letor {W}/big/train.txt --validation {W}/big/test.txt"
GIVEN = "--set margin=0.5 --set c=0.5 --set lambda=0.001"
SYNONYMS = "export synonyms {W}/sparse-preference.model --format csv"
OPEN = "inspect {C}/m"
TARGETS = [
    Target("ingest", INGEST, INGEST + " --min-clicks 2 --ngrams 2", ["data"],
           "rank --model {W}/big/bm25.model --data {C}/data --out {C}/check.run"),
    Target("ingest --append", INGEST, "ingest --append --removed {W}/big/gone.txt --out {C}/data", ["data"],
           "rank --model {W}/big/bm25.model --data {C}/data --out {C}/check.run"),
    Target("refresh", "refresh --data {W}/big/split --live {C}/live --model {W}/big/split.model",
           "refresh --data {W}/big/split --live {C}/live", ["live"], "inspect {C}/live/current.model", partial=True,
           goes_on=True),
    Target("train rmls", f"train rmls --set d=5 {B} --out {{C}}/m", f"train rmls --set d=50 {B} --out {{C}}/m", ["m"], OPEN),
    Target("train sparse-preference", BM25,
           f"train sparse-preference --set tuples=3000 {GIVEN} --checkpoint 0 {B} --out {{C}}/m", ["m"], OPEN, partial=True),
    Target("train perceptron", SVM, f"train perceptron {LISTS} --curve {{C}}/curve.csv --out {{C}}/m",
           ["m", "curve.csv"], OPEN),
    Target("train slam", SVM, f"train slam {LISTS} --out {{C}}/m", ["m"], OPEN),
    Target("train stack", BM25,
           f"train stack --set ranker=listnet --of {{W}}/big/bm25.model {{W}}/big/pls.model {B} --out {{C}}/m", ["m"], OPEN),
    Target("update tuples", f"train sparse-preference --set tuples=300 {GIVEN} {B} --out {{C}}/m",
           f"update {{C}}/m --tuples {{W}}/big/tuples.tsv {B} --checkpoint 0 --out {{C}}/m", ["m"], OPEN,
           partial=True, goes_on=True),
    Target("update lists", "train perceptron --letor {W}/train.txt --out {C}/m",
           "update {C}/m --lists {W}/big/lists.jsonl --checkpoint 0 --out {C}/m", ["m"], OPEN, partial=True, goes_on=True),
    Target("update lists, resumed", "train perceptron --letor {W}/train.txt --out {C}/m",
           "update {C}/m --lists {W}/big/lists.jsonl --resume --checkpoint 0 --out {C}/m", ["m"], OPEN, partial=True,
           ends_alike=True),
    Target("rank", RANK + " --split validation --out {C}/r.run", RANK + " --out {C}/r.run", ["r.run"]),
    Target("rank, compressed", RANK + " --split validation --out {C}/r.run.gz", RANK + " --out {C}/r.run.gz", ["r.run.gz"]),
    Target("features", f"features {B} --of {{W}}/big/bm25.model --out {{C}}/f.txt",
           f"features {B} --of {{W}}/big/bm25.model {{W}}/big/pls.model --out {{C}}/f.txt --names {{C}}/names",
           ["f.txt", "names"]),
    Target("export synonyms", RANK + " --split validation --out {C}/s", SYNONYMS + " --threshold 0 --out {C}/s", ["s"]),
    Target("export query-vectors", "export query-vectors {W}/pls.model --queries {W}/queries.tsv --out {C}/v",
           "export query-vectors {W}/big/pls.model --queries {W}/big/log/queries.tsv --out {C}/v", ["v"]),
    Target("compare", f"compare {B} --models bm25 --trials 1 --out {{C}}/c",
           f"compare {B} --models bm25,pls,random-walk,pls+bm25 --trials 2 --out {{C}}/c", ["c"],
           f"report {{C}}/c {B} --out {{C}}/check.html", partial=True),
    Target("compare rankers", f"compare --letor {FOLDS} --models ranksvm --out {{C}}/c",
           f"compare --letor {FOLDS} --models ranksvm,listnet --trials 2 --refit --out {{C}}/c", ["c"],
           "report {C}/c --out {C}/check.html", partial=True),
    Target("tune a ranker", SVM, f"tune listnet {LISTS} --trials 3 --trace {{C}}/trace.jsonl --out {{C}}/m", ["m"], OPEN),
    Target("tune", BM25, f"tune pls {B} --trials 3 --trace {{C}}/trace.jsonl --out {{C}}/m", ["m"], OPEN),
    Target("report", RANK + " --split validation --out {C}/r.html", "report {W}/comparison --data {W}/data --out {C}/r.html", ["r.html"]),
]


def prepare(program, space, run):
    """The larger dataset, and for each target what was there, what comes out, its seconds and its system calls."""
    big = space.path / "big"

    def go(template):
        run(words(template, space, big))

    go("simulate clicks --queries 1000 --documents 1500 --words 1500 --topics 10 --concepts 200 --judged 120 --out {C}/log")
    go(INGEST.replace("--force ", ""))
    go("train bm25 --data {C}/data --out {C}/bm25.model")
    go("train pls --set d=10 --data {C}/data --out {C}/pls.model")
    go("ingest --clicks {C}/log/clicks.csv --documents {C}/log/documents.jsonl --split query --out {C}/split")
    go("train clicks --data {C}/split --out {C}/split.model")
    (big / "gone.txt").write_text("d1\nd2\nd3\n")
    for split, name in (("validation", "train"), ("test", "test")):
        go(f"features --data {{C}}/data --of {{C}}/bm25.model {{C}}/pls.model --split {split} --out {{C}}/{name}.txt")
    queries = [row.split("\t")[1] for row in (big / "log" / "queries.tsv").read_text().splitlines()]
    tuples = (f"{queries[i % len(queries)]}\td{i * 7 % 1500}\td{(i * 11 + 3) % 1500}\n" for i in range(3000))
    (big / "tuples.tsv").write_text("".join(tuples))
    write_json_lines(big / "lists.jsonl", ({"query": f"q{i}", "documents": [
        {"grade": (i + j) % 3, "features": [j * 0.5, i % 7, 0.25 * j, 1]} for j in range(6)]} for i in range(4000)))
    space.traced = bool(shutil.which("strace"))
    if not space.traced:
        print("strace is not installed; commands are not killed at their system calls", flush=True)
    for target in TARGETS:
        home = space.path / "kills" / target.name.replace(" ", "-").replace(",", "")
        (home / "C").mkdir(parents=True)
        former = program.run(words(target.former, space, home / "C"), home)
        if former.code not in (0, 1):
            raise SystemExit(f"the workspace cannot be made: {target.former}\n{former.text()}")
        shutil.copytree(home / "C", home / "after", symlinks=True)
        end = program.run(words(target.command, space, home / "after"), home)
        if end.code not in (0, 1):
            raise SystemExit(f"the workspace cannot be made: {target.command}\n{end.text()}")
        calls = 0
        if space.traced:
            shutil.copytree(home / "C", home / "traced", symlinks=True)
            trace = ["strace", "-f", "-qq", "-o", str(home / "calls"), "-e", f"trace={CALLS}"]
            program.run(words(target.command, space, home / "traced"), home, prefix=trace)
            calls = len((home / "calls").read_text().splitlines())
            shutil.rmtree(home / "traced")
        states = [[state(home / folder / output) for output in target.outputs] for folder in ("C", "after")]
        shutil.rmtree(home / "after")
        space.targets[target.name] = (home / "C", states, end.seconds, calls)


def words(template, space, case):
    return line(template, W=space.path, C=case)


def state(path):
    """What a file or folder holds, indexes and temporary files aside; None where there is nothing."""
    if not path.exists():
        return None
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    content = hashlib.sha256()
    for file in files:
        name = str(file.relative_to(path.parent))
        if file.is_file() and "/index/" not in name and "/.matchrank-" not in f"/{name}":
            content.update(name.encode() + b"\0" + hashlib.sha256(file.read_bytes()).digest())
    return content.hexdigest()


def attempt(program, space, path, seed, index):
    """One command, disturbed once and then run to its end."""
    rng = random.Random(f"kill {seed}:{index}")
    points = [(target, k) for target in TARGETS for k in range(1, space.targets[target.name][3] + 1)]
    random.Random(seed).shuffle(points)
    mode, target = MODES[index % len(MODES)], TARGETS[index // 2 % len(TARGETS)]
    if mode == "strace" and points:
        # Every call of every command has its turn.
        target, k = points[(index // len(MODES) * 2 + index % len(MODES) - 1) % len(points)]
    elif mode == "strace":
        mode = "kill"
    home, (former, new), seconds, calls = space.targets[target.name]
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(home, path / "C", symlinks=True)
    case = path / "C"
    argv, prefix, stop, moment = words(target.command, space, case), (), None, ""
    if mode == "strace":
        inject = f"inject={CALLS}:signal=KILL:when={k}"
        prefix = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={CALLS}", "-e", inject]
        moment = f"call {k} of {calls}"
    else:
        stop = (rng.random() * seconds, ENDS[mode][0] if mode in ENDS else signal.SIGKILL)
        moment = f"after {stop[0]:.3f} of {seconds:.3f} s"
    end = program.run(argv, path, stop, prefix)
    found = [] if mode not in ENDS and end.code in (-9, 137) else list(crash(end, program.memory))
    expected = ("signal SIGINT", "signal SIGTERM", "exit code 130", "exit code 143") if mode in ENDS else ()
    found = [failure for failure in found if not failure[0].startswith(expected)]
    if mode in ENDS and end.code not in (0, *ENDS[mode][1]):
        found.append((f"exit code {end.code} after {mode}", end.text().strip()[-200:]))
    now = [state(case / output) for output in target.outputs]
    for output, was, has, will in zip(target.outputs, former, now, new):
        if has is None and was is not None:
            found.append(("output lost", f"{output} is gone"))
        elif has not in (was, will) and not target.partial:
            found.append(("output damaged", f"{output} is neither the former nor the new one"))
        elif end.code == 0 and mode in ENDS and has != will and not target.partial:
            found.append(("interrupted with exit code 0", f"{output} is not the new one"))
    if target.opens and (case / target.outputs[0]).exists():
        opened = program.run(words(target.opens, space, case), path)
        # A model whose files were being replaced counts as not made yet, also when there is no other.
        if opened.code not in (0, 1) and "has no results yet: `compare` was interrupted" not in opened.text():
            found.append(("output does not open", opened.text().strip()[-300:]))
        found += crash(opened, program.memory)
    if mode in ENDS and leftovers(path):
        found.append((f"temporary file left after {mode}", leftovers(path)[0][len(str(path)):]))
    again, alike = program.run(argv, path), target.ends_alike or not (target.partial or target.goes_on)
    found += crash(again, program.memory)
    if again.code not in (0, 1):
        found.append(("does not run again", again.text().strip()[-300:]))
    elif alike and [state(case / output) for output in target.outputs] != new:
        found.append(("another result when run again", ""))
    if leftovers(path):
        found.append(("temporary file left after the next run", leftovers(path)[0][len(str(path)):]))
    details = [(kind, f"{mode} {moment}: {detail}", target.command) for kind, detail in found]
    if found:
        (path / "command").write_text(" ".join([*prefix, *argv]) + "\n")
        failure = {"target": target.name, "mode": mode, "moment": moment, "found": found}
        (path / "failure.json").write_text(json.dumps(failure, indent=1))
    else:
        shutil.rmtree(path)
    return path.name, f"kill: {target.name}", "finished" if end.code in (0, 1) else "ended", details
