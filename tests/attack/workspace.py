"""The workspace: one small file of every kind the program reads, and the commands that read it.

Everything is made by the program under attack, with one seed, in a few seconds. A command is a line in which {in} stands
for the mutated file, {W} for the workspace, {data} and {comparison} for copies of the dataset and the comparison that
belong to the case, {out} for an empty folder.
"""

import gzip
import json
import os
import shlex
from dataclasses import dataclass, field
from pathlib import Path

from containers import zstd_frame

REPOSITORY = Path(__file__).resolve().parents[2]
D, L = "--data {W}/data", "--letor {W}/test.txt"
INGEST = "ingest --clicks {W}/clicks.csv --documents {W}/documents.jsonl --queries {W}/queries.tsv --text title,url --out {out}/d"
TINY = "--set trees=3 --set leaves=3 --set min_rows=2"


@dataclass
class Reader:
    """A file and the commands that read it."""

    name: str
    group: str
    source: str
    form: str
    commands: list
    #: Protected files are covered by a hash: a mutation must not change a result without a word.
    protected: bool = False
    #: Commands that write into what they read.
    changes_input: bool = False
    #: Where the file lies in a copy of a folder: "data" or "comparison".
    folder: str = ""


@dataclass
class Workspace:
    path: Path
    readers: list = field(default_factory=list)

    def groups(self):
        found = {}
        for reader in self.readers:
            found.setdefault(reader.group, []).append(reader)
        return found


MATCHING = {
    "bm25": "bm25", "rmls": "rmls --set d=4 --set iterations=2", "pls": "pls --set d=4", "lsi-dt": "lsi-dt --set d=4",
    "lsi-qd": "lsi-qd --set d=4", "ssi": "ssi --set d=2 --set iterations=2", "svdfeature": "svdfeature --set d=2",
    "bltm": "bltm --set topics=3", "random-walk": "random-walk", "sparse-preference": "sparse-preference --set tuples=200 --budget 1",
    "combination": "combination --of {W}/bm25.model {W}/pls.model", "stack": "stack --of {W}/bm25.model {W}/pls.model",
}
RANKERS = {"perceptron": "--set epochs=5", "slam": "", "ranksvm": "", "listnet": "", "query-dependent": "--query-features {W}/vectors.tsv",
           "mart": TINY, "lambdamart": TINY}
#: What cannot be trained where LightGBM is missing.
BOOSTED = ("mart", "lambdamart")


def line(template, **names):
    """A command line with its names put in; no name holds a blank."""
    return [word.format(**names) for word in shlex.split(template)]


def make(run, path):
    """Makes the files with `run`, which runs a command and raises where it fails."""
    space = Workspace(path)
    go = lambda template: run(line(template, W=path))
    go("simulate clicks --queries 80 --documents 80 --words 150 --topics 4 --concepts 40 --judged 24 --out {W}/log")
    log = path / "log"
    clicks = (log / "clicks.csv").read_text().splitlines()[:250]
    (path / "clicks.csv").write_text("\n".join(clicks) + "\n")
    (path / "clicks.tsv").write_text("\n".join(row.replace(",", "\t") for row in clicks) + "\n")
    names = clicks[0].split(",")
    rows = [dict(zip(names, row.split(","))) for row in clicks[1:]]
    (path / "clicks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (path / "clicks.csv.gz").write_bytes(gzip.compress((path / "clicks.csv").read_bytes(), mtime=0))
    (path / "clicks.csv.zst").write_bytes(zstd_frame((path / "clicks.csv").read_bytes()))
    for name in ("documents.jsonl", "queries.tsv", "validation.qrels", "test.qrels"):
        (path / name).write_bytes((log / name).read_bytes())
    documents = [json.loads(row) for row in (path / "documents.jsonl").read_text().splitlines()]
    (path / "documents.csv").write_text("id,title,url\n" + "".join(f'{d["id"]},"{d["title"]}",{d["url"]}\n' for d in documents))
    qrels = [row.split() for row in (path / "test.qrels").read_text().splitlines()]
    (path / "judgments.csv").write_text("query_id,document,grade\n" + "".join(f"{q},{d},{g}\n" for q, _, d, g in qrels))
    seeds = REPOSITORY / "fuzz" / "seeds"
    for seed in ("plain", "snappy"):
        (path / f"clicks_{seed}.parquet").write_bytes((seeds / "clicks" / f"{seed}.bin").read_bytes()[2:])
    for seed in ("ubi", "metarank"):
        (path / f"clicks_{seed}.jsonl").write_bytes((seeds / "clicks" / f"{seed}.txt").read_bytes()[2:])
    go(INGEST.replace("{out}/d", "{W}/data").replace("{W}/clicks.csv", "{W}/log/clicks.csv")
       + " --judgments validation={W}/validation.qrels --judgments test={W}/test.qrels")
    for name, template in MATCHING.items():
        go(f"train {template} {D} --out {{W}}/{name}.model")
    for split, name in (("validation", "train"), ("test", "test")):
        go(f"features {D} --of {{W}}/bm25.model {{W}}/pls.model --candidates judged --split {split} --out {{W}}/{name}.txt --names {{W}}/names.txt")
    go("export query-vectors {W}/pls.model --queries {W}/queries.tsv --out {W}/vectors.tsv")
    for name, more in RANKERS.items():
        if name in BOOSTED and not os.environ.get("MATCHRANK_LIGHTGBM"):
            golden = REPOSITORY / "tests" / "golden" / "model_files" / "lambdamart_v1.safetensors"
            (path / f"{name}.model").write_bytes(golden.read_bytes())
        else:
            validation = "" if name == "query-dependent" else "--validation {W}/test.txt"
            go(f"train {name} --letor {{W}}/train.txt {validation} {more} --out {{W}}/{name}.model")
    for name in ("bm25", "pls"):
        go(f"rank --model {{W}}/{name}.model {D} --out {{W}}/{name}.run")
    go("rank --model {W}/ranksvm.model --letor {W}/train.txt --out {W}/letor.run")
    (path / "plan.toml").write_text(PLAN)
    go(f"compare {D} --plan {{W}}/plan.toml --out {{W}}/comparison")
    go(f"tune bm25 {D} --trials 3 --trace {{W}}/trace.jsonl")
    go("export synonyms {W}/sparse-preference.model --threshold 0.01 --out {W}/synonyms.txt")
    queries = [row.split("\t") for row in (path / "queries.tsv").read_text().splitlines()]
    tuples = [(queries[i % len(queries)][1], f"d{i * 7 % 80}", f"d{(i * 11 + 3) % 80}") for i in range(60)]
    (path / "tuples.tsv").write_text("".join("\t".join(row) + "\n" for row in tuples))
    (path / "tuples.jsonl").write_text("".join(json.dumps({"query": q, "better": b, "worse": w}) + "\n" for q, b, w in tuples))
    lists = [{"query": f"q{i}", "documents": [{"id": f"d{j}", "grade": (i + j) % 3, "features": [j * 0.5, i, 0.25 * j * i, 1]} for j in range(4)]}
             for i in range(15)]
    (path / "lists.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lists))
    (path / "bins.tsv").write_text("".join(f"{q}\t{'even' if int(q[1:]) % 2 == 0 else 'odd'}\n" for q, _ in queries))
    space.readers = readers(path, queries)
    return space


PLAN = """\
models = ["bm25", "random-walk", "small+bm25"]
trials = 2
strategy = "random"
measures = ["ndcg@10", "map"]

[[model]]
name = "small"
kind = "pls"
set = { d = 4 }
vary = { weight_power = [0, 0.5, 1] }
trials = 2
"""


def readers(path, queries):
    """Every reader of the program."""
    test = sorted({row.split()[0] for row in (path / "test.qrels").read_text().splitlines()})
    query, text = test[0], dict(queries)[test[0]]
    document = next(row.split()[2] for row in (path / "test.qrels").read_text().splitlines() if row.split()[0] == query)
    why = f"--query '{text}' --document {document}"
    why_list = f"{L} --query {query} --document {document}"
    found = []
    add = lambda *args, **more: found.append(Reader(*args, **more))

    clicks = [INGEST.replace("{W}/clicks.csv", "{in}"), INGEST.replace("{W}/clicks.csv", "{in}") + " --split query --min-clicks 2",
              INGEST.replace("{W}/clicks.csv", "{in}") + " --format json"]
    for name in ("clicks.csv", "clicks.tsv"):
        add(name, "clicks", name, "text", [*clicks, clicks[0] + " --split time"])
    for name in ("clicks.jsonl", "clicks_ubi.jsonl", "clicks_metarank.jsonl"):
        add(name, "clicks", name, "json lines", clicks if name == "clicks.jsonl" else clicks[:1])
    for name in ("clicks.csv.gz", "clicks.csv.zst", "clicks_plain.parquet", "clicks_snappy.parquet"):
        add(name, "clicks", name, "binary", clicks)
    for name, form in (("documents.jsonl", "json lines"), ("documents.csv", "text"), ("data/documents.parquet", "binary")):
        add(Path(name).name, "documents", name, form, [INGEST.replace("{W}/documents.jsonl", "{in}")])
    add("queries.tsv", "queries", "queries.tsv", "text", [
        INGEST.replace("{W}/queries.tsv", "{in}"), f"rank --model {{W}}/pls.model {D} --queries {{in}} --out {{out}}/r.run",
        "export query-vectors {W}/pls.model --queries {in} --out {out}/v.tsv"])
    for name in ("test.qrels", "judgments.csv"):
        add(name, "judgments", name, "text", [
            INGEST + " --judgments test={in}",
            "ingest --responses {in} --documents {W}/documents.jsonl --queries {W}/queries.tsv --text title,url --out {out}/d"])
    add("qrels of eval", "judgments", "test.qrels", "text", [
        "eval --qrels {in} --run {W}/bm25.run {W}/pls.run", "eval --qrels {in} --run {W}/pls.run --format json --per-query",
        "eval --qrels {in} --run {W}/pls.run --format csv --dialect trec", "doctor {in} {W}/bm25.run", "doctor --kind qrels {in} --format json",
        f"rank --model {{W}}/pls.model {D} --candidates {{in}} --out {{out}}/r.run"])
    add("run", "runs", "pls.run", "text", [
        "eval --qrels {W}/test.qrels --run {in} {W}/bm25.run", "eval --qrels {W}/test.qrels --run {in} --format csv --per-query",
        f"eval {D} --run {{in}} --by seen --format json", "doctor {in}", f"rank --model {{W}}/bm25.model {D} --candidates {{in}} --out {{out}}/r.run"])
    add("LETOR", "LETOR", "train.txt", "text", [
        *[f"train {kind} --letor {{in}} {more} --out {{out}}/m" for kind, more in RANKERS.items()
          if kind not in BOOSTED or os.environ.get("MATCHRANK_LIGHTGBM")],
        "train ranksvm --letor {W}/test.txt --validation {in} --out {out}/m", "rank --model {W}/ranksvm.model --letor {in} --out {out}/r.run",
        "rank --model {W}/perceptron.model --letor {in} --out {out}/r.run --format json", "doctor {in}", "doctor --kind letor {in} --format json",
        "inspect {W}/listnet.model --letor {in} --repeats 2 --format csv", "eval --letor {in} --run {W}/letor.run",
        f"features {D} --of {{W}}/bm25.model --letor {{in}} --out {{out}}/f.txt", "export elasticsearch {W}/ranksvm.model --letor {in} --out {out}/es.json"])
    add("plan", "plans", "plan.toml", "text", [f"compare {D} --plan {{in}} --out {{out}}/c"])
    for name, form in (("tuples.tsv", "text"), ("tuples.jsonl", "json lines")):
        add(name, "tuples", name, form, [f"update {{W}}/sparse-preference.model --tuples {{in}} {D} --out {{out}}/m",
                                         "update {W}/sparse-preference.model --tuples {in} --text --out {out}/m",
                                         f"train sparse-preference --tuples {{in}} {D} --set tuples=50 --budget 1 --out {{out}}/m"])
    add("lists", "lists", "lists.jsonl", "json lines", ["update {W}/perceptron.model --lists {in} --out {out}/m"])
    add("query features", "query features", "vectors.tsv", "text", [
        "train query-dependent --letor {W}/train.txt --query-features {in} --out {out}/m",
        "rank --model {W}/query-dependent.model --letor {W}/test.txt --query-features {in} --out {out}/r.run"])
    add("bins", "names", "bins.tsv", "text", ["eval --qrels {W}/test.qrels --run {W}/pls.run --bins {in}"])
    add("feature names", "names", "names.txt", "text", [f"explain --model {{W}}/ranksvm.model {why_list} --names {{in}}",
                                                       "export elasticsearch {W}/ranksvm.model --features {in} --out {out}/es.json"])
    add("synonyms", "names", "synonyms.txt", "text", ["export synonyms {W}/sparse-preference.model --threshold 0.02 --diff {in} --out {out}/s"])
    add("trace", "trace", "trace.jsonl", "json lines", [f"tune bm25 {D} --trials 4 --trace {{in}}"], changes_input=True)

    for kind in MATCHING:
        commands = [f"rank --model {{in}} {D} --out {{out}}/r.run", f"rank --model {{in}} {D} --candidates judged --out {{out}}/r.run --format json",
                    f"explain --model {{in}} {D} {why}", "inspect {in}", "inspect {in} --format json"]
        other = "pls" if kind == "bm25" else "bm25"
        if kind != "stack":
            commands.append(f"features {D} --of {{in}} {{W}}/{other}.model --candidates judged --out {{out}}/f.txt")
        if kind in ("rmls", "pls", "lsi-dt", "ssi", "svdfeature", "bltm", "sparse-preference"):
            commands.append(f"related --model {{in}} --min-documents 1 '{text}'")
        if kind in ("rmls", "pls", "lsi-dt", "lsi-qd", "combination"):
            commands.append(f"export query-vectors {{in}} --queries {{W}}/queries.tsv {D if kind != 'combination' else ''} --out {{out}}/v.tsv")
        if kind == "sparse-preference":
            commands += ["export synonyms {in} --threshold 0.01 --out {out}/s", f"update {{in}} --tuples {{W}}/tuples.tsv {D} --out {{out}}/m"]
        if kind not in ("combination", "stack"):
            commands += [f"train {way} --of {{in}} {{W}}/{other}.model {D} --out {{out}}/m" for way in ("combination", "stack")]
        if kind == "rmls":
            commands.append(f"train rmls --start {{in}} {D} --out {{out}}/m")
        add(f"{kind}.model", "models", f"{kind}.model", "model", commands, protected=True)
    for kind in RANKERS:
        features = "--query-features {W}/vectors.tsv" if kind == "query-dependent" else ""
        commands = [f"rank --model {{in}} {L} {features} --out {{out}}/r.run", f"explain --model {{in}} {why_list} {features}", "inspect {in}",
                    "inspect {in} --format json"]
        if not features:
            commands.append(f"inspect {{in}} {L} --repeats 2")
        if kind not in (*BOOSTED, "query-dependent"):
            commands.append("export elasticsearch {in} --out {out}/es.json")
        if kind == "perceptron":
            commands.append("update {in} --lists {W}/lists.jsonl --out {out}/m")
        add(f"{kind}.model", "models", f"{kind}.model", "model", commands, protected=True)

    dataset = ["rank --model {W}/bm25.model --data {data} --out {out}/r.run", "rank --model {W}/rmls.model --data {data} --split validation --out {out}/r.run",
               "train rmls --set d=4 --set iterations=2 --data {data} --out {out}/m", "train random-walk --data {data} --out {out}/m",
               "rank --model {W}/random-walk.model --data {data} --out {out}/r.run", "eval --data {data} --run {W}/pls.run --by clicks",
               "train sparse-preference --set tuples=50 --budget 1 --data {data} --out {out}/m", "train bltm --set topics=3 --data {data} --out {out}/m",
               "features --data {data} --of {W}/bm25.model --clicks --out {out}/f.txt", f"explain --model {{W}}/rmls.model --data {{data}} {why}",
               "train ssi --set d=2 --set iterations=2 --data {data} --out {out}/m", "doctor {data}"]
    for table in sorted(path.glob("data/*.parquet")):
        add(table.name, "tables", f"data/{table.name}", "binary", dataset, protected=True, folder="data")
    add("manifest.json", "manifest", "data/manifest.json", "json", dataset, protected=True, folder="data")
    for file in sorted(path.glob("data/index/*/*")):
        if file.stat().st_size:
            form = "json" if file.suffix == ".json" else "binary"
            name = f"index {file.name if form == 'json' else file.suffix}"
            add(name, "index", str(file.relative_to(path)), form, [dataset[0], dataset[8], f"explain --model {{W}}/bm25.model --data {{data}} {why}"],
                protected=True, folder="data")
    again = [f"report {{comparison}} {D} --out {{out}}/r.html", f"compare {D} --plan {{W}}/plan.toml --out {{comparison}}"]
    for file in sorted(path.glob("comparison/**/*")):
        forms = {".json": "json", ".jsonl": "json lines", ".run": "text", ".model": "model"}
        if file.suffix in forms:
            name = f"comparison {file.parent.name + '/' if file.parent.name != 'comparison' else ''}{file.suffix if file.parent.name != 'comparison' else file.name}"
            add(name, "comparison", str(file.relative_to(path)), forms[file.suffix], again, changes_input=True, folder="comparison")
    return found
