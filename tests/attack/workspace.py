"""The workspace: one small file of every kind the program reads, made by the program itself in a few seconds."""

import gzip
import json
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from containers import zstd_frame
from readers import D, FOLDS, GOLDEN, INGEST, MATCHING, RANKERS, can_train, line, readers

REPOSITORY = Path(__file__).resolve().parents[2]
PLAN = """\
models = ["bm25", "random-walk", "small+bm25"]
trials = 2
seconds = 10
strategy = "random"
measures = ["ndcg@10", "map"]

[[model]]
name = "small"
kind = "pls"
set = { d = 4 }
vary = { weight_power = [0, 0.5, 1] }
trials = 2
"""
RANKERS_PLAN = """\
models = ["perceptron"]
trials = 2
seconds = 10
strategy = "random"

[[model]]
name = "svm"
kind = "ranksvm"
vary = { scaling = ["none", "min_max"] }
"""


@dataclass
class Workspace:
    """The files, their readers, and what commands made of the sound files."""

    path: Path
    readers: list = field(default_factory=list)
    #: By reader and command: exit code, results, standard output, notes.
    references: dict = field(default_factory=dict)
    #: By name of a command that is killed: former output, states, seconds, number of system calls.
    targets: dict = field(default_factory=dict)
    #: Every file with its hash, to be compared at the end.
    snapshot: dict = field(default_factory=dict)

    def groups(self):
        found = {}
        for reader in self.readers:
            found.setdefault(reader.group, []).append(reader)
        return found


def make(run, path):
    """Makes the files with `run`, which runs a command and ends the attack where it fails."""
    def go(template):
        run(line(template, W=path))

    go("simulate clicks --queries 80 --documents 80 --words 150 --topics 4 --concepts 40 --judged 24 --out {W}/log")
    texts(path)
    go(INGEST.replace("{out}/d", "{W}/data").replace("{W}/clicks.csv", "{W}/log/clicks.csv")
       + " --judgments validation={W}/validation.qrels --judgments test={W}/test.qrels")
    go(INGEST.replace("{out}/d", "{W}/refit").replace("{W}/clicks.csv", "{W}/log/clicks.csv")
       + " --judgments test={W}/test.qrels")
    for name, template in MATCHING.items():
        go(f"train {template} {D} --out {{W}}/{name}.model")
    for split, name in (("validation", "train"), ("test", "test")):
        go(f"features {D} --of {{W}}/bm25.model {{W}}/pls.model --candidates judged --split {split} --out {{W}}/{name}.txt "
           "--names {W}/names.txt")
    go("export query-vectors {W}/pls.model --queries {W}/queries.tsv --out {W}/vectors.tsv")
    for name, more in RANKERS.items():
        if can_train(name):
            validation = "" if name == "query-dependent" else "--validation {W}/test.txt"
            go(f"train {name} --letor {{W}}/train.txt {validation} {more} --out {{W}}/{name}.model")
        else:
            golden = REPOSITORY / "tests" / "golden" / "model_files" / "lambdamart_v1.safetensors"
            (path / f"{name}.model").write_bytes(golden.read_bytes())
    for name in ("bm25", "pls"):
        go(f"rank --model {{W}}/{name}.model {D} --out {{W}}/{name}.run")
    go("rank --model {W}/ranksvm.model --letor {W}/train.txt --out {W}/letor.run")
    feature_lists(path)
    (path / "plan.toml").write_text(PLAN)
    (path / "rankers.toml").write_text(RANKERS_PLAN)
    go(f"compare {D} --plan {{W}}/plan.toml --out {{W}}/comparison")
    go(f"compare --letor {FOLDS} --plan {{W}}/rankers.toml --out {{W}}/of_rankers")
    go("rank --model {W}/ranksvm.model --letor {W}/fold1.txt {W}/fold2.txt --out {W}/folds.run")
    go("tune listnet --letor {W}/fold1.txt --validation {W}/fold2.txt --trials 3 --trace {W}/ranker_trace.jsonl")
    go(f"tune bm25 {D} --trials 3 --trace {{W}}/trace.jsonl")
    go("export synonyms {W}/sparse-preference.model --data {W}/data --min-support 0 --threshold 0.01 --out {W}/synonyms.txt")
    queries = streams(path)
    go("update {W}/perceptron.model --lists {W}/first_lists.jsonl --out {W}/resumed.model")
    golden = REPOSITORY / "tests" / "golden"
    for version, folder in GOLDEN.items():
        shutil.copytree(golden / "datasets" / version, path / folder)
        go(f"train bm25 --data {{W}}/{folder} --out {{W}}/{folder}.model")
    shutil.copytree(golden / "comparisons" / "v0.1.0", path / "comparison_010")
    shutil.copyfile(golden / "datasets" / "test.run", path / "golden.run")
    return Workspace(path, readers(path, queries))


def texts(path):
    """Logs, documents, queries and judgments in every format that is read."""
    log = path / "log"
    clicks = (log / "clicks.csv").read_text().splitlines()[:250]
    (path / "clicks.csv").write_text("\n".join(clicks) + "\n")
    (path / "clicks.tsv").write_text("\n".join(row.replace(",", "\t") for row in clicks) + "\n")
    names = clicks[0].split(",")
    write_json_lines(path / "clicks.jsonl", (dict(zip(names, row.split(","))) for row in clicks[1:]))
    (path / "clicks.csv.gz").write_bytes(gzip.compress((path / "clicks.csv").read_bytes(), mtime=0))
    (path / "clicks.csv.zst").write_bytes(zstd_frame((path / "clicks.csv").read_bytes()))
    for name in ("documents.jsonl", "queries.tsv", "validation.qrels", "test.qrels"):
        (path / name).write_bytes((log / name).read_bytes())
    documents = [json.loads(row) for row in (path / "documents.jsonl").read_text().splitlines()]
    (path / "documents.csv").write_text("id,title,url\n" + "".join(f'{d["id"]},"{d["title"]}",{d["url"]}\n' for d in documents))
    qrels = [row.split() for row in (path / "test.qrels").read_text().splitlines()]
    (path / "judgments.csv").write_text("query_id,document,grade\n" + "".join(f"{q},{d},{g}\n" for q, _, d, g in qrels))
    # The seeds of the fuzz target begin with two letters that choose a split and a format.
    seeds = REPOSITORY / "fuzz" / "seeds" / "clicks"
    for seed in ("plain", "snappy"):
        (path / f"clicks_{seed}.parquet").write_bytes((seeds / f"{seed}.bin").read_bytes()[2:])
    for seed in ("ubi", "metarank"):
        (path / f"clicks_{seed}.jsonl").write_bytes((seeds / f"{seed}.txt").read_bytes()[2:])


def feature_lists(path):
    """LETOR files in folds, with missing values and compressed; weights of queries and documents."""
    rows = [row for name in ("train", "test") for row in (path / f"{name}.txt").read_text().splitlines()]
    queries = list(dict.fromkeys(row.split()[1] for row in rows))
    for fold in range(4):
        own = set(queries[fold::4])
        (path / f"fold{fold + 1}.txt").write_text("".join(row + "\n" for row in rows if row.split()[1] in own))
    train = (path / "train.txt").read_text()
    (path / "train.txt.gz").write_bytes(gzip.compress(train.encode(), mtime=0))
    missing = [row.split(" ") for row in train.splitlines()]
    for i, row in enumerate(missing):
        row[2 + i % 4] = f"{1 + i % 4}:NaN" if i % 3 else row[2 + i % 4]
    (path / "missing.txt").write_text("".join(" ".join(row) + "\n" for row in missing))
    named = [(row.split()[1][4:], row.split()[-1]) for row in train.splitlines()]
    (path / "document_weights.tsv").write_text("".join(f"{q}\t{d}\t{0.5 + i % 5}\n" for i, (q, d) in enumerate(named)))
    (path / "query_weights.tsv").write_text("".join(f"{q}\t{1 + i % 3}\n" for i, q in enumerate(dict(named))))


def streams(path):
    """Tuples, lists and bins; returns ids and texts of the queries."""
    queries = [row.split("\t") for row in (path / "queries.tsv").read_text().splitlines()]
    tuples = [(queries[i % len(queries)][1], f"d{i * 7 % 80}", f"d{(i * 11 + 3) % 80}") for i in range(60)]
    (path / "tuples.tsv").write_text("".join("\t".join(row) + "\n" for row in tuples))
    write_json_lines(path / "tuples.jsonl", ({"query": q, "better": b, "worse": w} for q, b, w in tuples))
    write_json_lines(path / "lists.jsonl", ({"query": f"q{i}", "documents": [
        {"id": f"d{j}", "grade": (i + j) % 3, "features": [j * 0.5, i, 0.25 * j * i, 1]}
        for j in range(4)]} for i in range(15)))
    (path / "first_lists.jsonl").write_text("".join((path / "lists.jsonl").read_text().splitlines(True)[:5]))
    (path / "bins.tsv").write_text("".join(f"{q}\t{'odd' if int(q[1:]) % 2 else 'even'}\n" for q, _ in queries))
    return queries


def write_json_lines(path, values):
    path.write_text("".join(json.dumps(value) + "\n" for value in values))
