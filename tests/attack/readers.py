"""Every reader of the program: a file, and the commands that read it.

A command is a line in which {in} stands for the mutated file, {W} for the workspace, the name of a folder of the workspace
({data}, {comparison}, ...) for a copy of it that belongs to the case, {out} for an empty folder.
"""

import os
import shlex
from dataclasses import dataclass
from pathlib import Path

D, L = "--data {W}/data", "--letor {W}/test.txt"
INGEST = ("ingest --clicks {W}/clicks.csv --documents {W}/documents.jsonl --queries {W}/queries.tsv --text title,url "
          "--out {out}/d")
TINY = "--set trees=3 --set leaves=3 --set min_rows=2"
#: Models of a dataset, and how they are trained.
MATCHING = {
    "bm25": "bm25",
    "rm3": "rm3 --set terms=3",
    "rmls": "rmls --set d=4 --set iterations=2",
    "pls": "pls --set d=4",
    "lsi-dt": "lsi-dt --set d=4",
    "lsi-qd": "lsi-qd --set d=4",
    "ssi": "ssi --set d=2 --set iterations=1 --set tuples=200",
    "svdfeature": "svdfeature --set d=2",
    "bltm": "bltm --set topics=3",
    "clicks": "clicks",
    "random-walk": "random-walk",
    "sparse-preference": "sparse-preference --set tuples=200 --trial-tuples 100",
    "combination": "combination --of {W}/bm25.model {W}/pls.model",
    "stack": "stack --of {W}/bm25.model {W}/pls.model",
}
RANKERS = {
    "perceptron": "--set epochs=5",
    "slam": "",
    "ranksvm": "",
    "listnet": "",
    "ridge": "",
    "query-dependent": "--query-features {W}/vectors.tsv",
    "mart": TINY,
    "lambdamart": TINY,
}
FOLDS = "{W}/fold2.txt {W}/fold3.txt {W}/fold4.txt"
#: Datasets of former versions in the tree, and the folders of the workspace that they become.
GOLDEN = {"v0.1.0": "data_010", "manifest_hash": "data_hash"}
#: Folders of the workspace that are datasets.
DATASETS = ("data", "refit", *GOLDEN.values())
#: Rankers that cannot be trained where LightGBM is missing.
BOOSTED = ("mart", "lambdamart")


def line(template, **names):
    """A command line with its names put in; no name holds a blank."""
    return [word.format(**names) for word in shlex.split(template)]


def can_train(ranker):
    return ranker not in BOOSTED or bool(os.environ.get("MATCHRANK_LIGHTGBM"))


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
    #: Where the file lies in a copy of a folder of the workspace.
    folder: str = ""


def readers(path, queries):
    """Every reader, for the workspace at `path`."""
    rows = [row.split() for row in (path / "test.qrels").read_text().splitlines()]
    log = (path / "log" / "clicks.csv").read_text()
    query, text, document = min((row[0], text, row[2]) for row in rows if f",{(text := dict(queries)[row[0]])}," in log)
    why, why_list = f"--query '{text}' --document {document}", f"{L} --query {query} --document {document}"
    return [*logs(), *judgments(), *lists(why_list), *folds(), *weights(), *models(text, why, why_list), *dataset(path, why),
            *former_datasets(path), *comparisons(path)]


def logs():
    clicks = INGEST.replace("{W}/clicks.csv", "{in}")
    every = [clicks, clicks + " --split query --min-clicks 2", clicks + " --format json"]
    for name in ("clicks.csv", "clicks.tsv"):
        yield Reader(name, "clicks", name, "text", [*every, clicks + " --split time",
                                                    clicks + " --split time --date-format %FT%TZ",
                                                    clicks + " --delimiter , --column event=session"])
    yield Reader("clicks.jsonl", "clicks", "clicks.jsonl", "json lines", every)
    for name in ("clicks_ubi.jsonl", "clicks_metarank.jsonl"):
        yield Reader(name, "clicks", name, "json lines", [clicks])
    for name in ("clicks.csv.gz", "clicks.csv.zst", "clicks_plain.parquet", "clicks_snappy.parquet"):
        yield Reader(name, "clicks", name, "binary", every)
    documents = [INGEST.replace("{W}/documents.jsonl", "{in}")]
    for name, form in (("documents.jsonl", "json lines"), ("documents.csv", "text"), ("data/documents.parquet", "binary")):
        yield Reader(Path(name).name, "documents", name, form, documents)
    yield Reader("queries.tsv", "queries", "queries.tsv", "text", [
        INGEST.replace("{W}/queries.tsv", "{in}"),
        f"rank --model {{W}}/pls.model {D} --queries {{in}} --out {{out}}/r.run",
        "export query-vectors {W}/pls.model --queries {in} --out {out}/v.tsv"])


def judgments():
    for name in ("test.qrels", "judgments.csv"):
        yield Reader(name, "judgments", name, "text", [
            INGEST + " --judgments test={in}",
            "ingest --responses {in} --documents {W}/documents.jsonl --queries {W}/queries.tsv --text title,url --out {out}/d"])
    yield Reader("qrels of eval", "judgments", "test.qrels", "text", [
        "eval --qrels {in} --run {W}/bm25.run {W}/pls.run",
        "eval --qrels {in} --run {W}/pls.run --format json --per-query",
        "eval --qrels {in} --run {W}/pls.run --format csv --dialect trec",
        "eval --qrels {in} --run {W}/pls.run --max-size 1M",
        "doctor {in} {W}/bm25.run",
        "doctor --kind qrels {in} --format json",
        f"rank --model {{W}}/pls.model {D} --candidates {{in}} --out {{out}}/r.run"])
    yield Reader("run", "runs", "pls.run", "text", [
        "eval --qrels {W}/test.qrels --run {in} {W}/bm25.run",
        "eval --qrels {W}/test.qrels --run {in} --format csv --per-query",
        f"eval {D} --run {{in}} --by seen --format json",
        "doctor {in}",
        f"rank --model {{W}}/bm25.model {D} --candidates {{in}} --out {{out}}/r.run"])
    yield Reader("bins", "names", "bins.tsv", "text", ["eval --qrels {W}/test.qrels --run {W}/pls.run --bins {in}"])


def lists(why_list):
    train = [f"train {kind} --letor {{in}} {more} --out {{out}}/m" for kind, more in RANKERS.items() if can_train(kind)]
    yield Reader("LETOR", "LETOR", "train.txt", "text", [
        *train,
        "train ranksvm --letor {W}/test.txt --validation {in} --out {out}/m",
        "rank --model {W}/ranksvm.model --letor {in} --out {out}/r.run",
        "rank --model {W}/perceptron.model --letor {in} --out {out}/r.run --format json",
        "doctor {in}",
        "doctor --kind letor {in} --format json",
        "inspect {W}/listnet.model --letor {in} --repeats 2 --format csv",
        "eval --letor {in} --run {W}/letor.run",
        f"features {D} --of {{W}}/bm25.model --letor {{in}} --out {{out}}/f.txt",
        "export elasticsearch {W}/ranksvm.model --letor {in} --out {out}/es.json"])
    yield Reader("plan", "plans", "plan.toml", "text", [f"compare {D} --plan {{in}} --out {{out}}/c"])
    yield Reader("plan of rankers", "plans", "rankers.toml", "text", [f"compare --letor {FOLDS} --plan {{in}} --out {{out}}/c"])
    for name, form in (("tuples.tsv", "text"), ("tuples.jsonl", "json lines")):
        yield Reader(name, "tuples", name, form, [
            f"update {{W}}/sparse-preference.model --tuples {{in}} {D} --out {{out}}/m",
            "update {W}/sparse-preference.model --tuples {in} --text --out {out}/m",
            f"train sparse-preference --tuples {{in}} {D} --set tuples=50 --trial-tuples 100 --out {{out}}/m"])
    yield Reader("lists", "lists", "lists.jsonl", "json lines", [
        "update {W}/perceptron.model --lists {in} --out {out}/m",
        "update {W}/resumed.model --lists {in} --resume --out {out}/m"])
    yield Reader("query features", "query features", "vectors.tsv", "text", [
        "train query-dependent --letor {W}/train.txt --query-features {in} --out {out}/m",
        "rank --model {W}/query-dependent.model --letor {W}/test.txt --query-features {in} --out {out}/r.run",
        f"explain --model {{W}}/query-dependent.model {why_list} --query-features {{in}}",
        "tune query-dependent --letor {W}/fold1.txt --validation {W}/fold2.txt --query-features {in} --trials 2 --out {out}/m",
        f"compare --letor {FOLDS} --models query-dependent --query-features {{in}} --out {{out}}/c"])
    yield Reader("feature names", "names", "names.txt", "text", [
        f"explain --model {{W}}/ranksvm.model {why_list} --names {{in}}",
        f"inspect {{W}}/ranksvm.model {L} --repeats 2 --names {{in}}",
        "export elasticsearch {W}/ranksvm.model --features {in} --out {out}/es.json"])
    yield Reader("synonyms", "names", "synonyms.txt", "text", [
        "export synonyms {W}/sparse-preference.model --format csv --threshold 0.02 --diff {in} --out {out}/s"])
    yield Reader("trace", "trace", "trace.jsonl", "json lines", [f"tune bm25 {D} --trials 4 --trace {{in}}"],
                 changes_input=True)
    yield Reader("trace of a ranker", "trace", "ranker_trace.jsonl", "json lines", [
        "tune listnet --letor {W}/fold1.txt --validation {W}/fold2.txt --trials 4 --trace {in}"], changes_input=True)


def folds():
    """LETOR files in folds, with missing values, and compressed."""
    compare = "compare --letor {W}/fold1.txt {in} {W}/fold3.txt {W}/fold4.txt --out {out}/c --models"
    boosted = [f"{compare} lambdamart {TINY}"] if can_train("lambdamart") else []
    yield Reader("fold", "folds", "fold2.txt", "text", [
        f"{compare} ranksvm,perceptron --format json",
        f"{compare} listnet --trials 2 --per-fold",
        f"{compare} slam,listnet --trials 2 --refit",
        *boosted,
        *[f"train {kind} {RANKERS[kind]} --letor {{W}}/fold1.txt {{in}} --validation {{W}}/fold3.txt {{W}}/fold4.txt "
          "--out {out}/m" for kind in ("slam", "lambdamart") if can_train(kind)],
        "train listnet --letor {W}/fold1.txt --validation {W}/fold3.txt {in} --out {out}/m",
        "tune listnet --letor {in} {W}/fold1.txt --validation {W}/fold3.txt --trials 2 --out {out}/m",
        "tune ranksvm --letor {W}/fold3.txt {W}/fold4.txt --validation {in} --trials 2 --refit --out {out}/m",
        "rank --model {W}/slam.model --letor {W}/fold1.txt {in} --max-size 1M --out {out}/r.run",
        "eval --letor {W}/fold1.txt {in} --run {W}/folds.run",
        "doctor {W}/fold1.txt {in}"])
    trees = [f"train {kind} --letor {{in}} --validation {{W}}/fold3.txt {TINY} --out {{out}}/m" for kind in BOOSTED
             if can_train(kind)]
    yield Reader("LETOR with NaN", "LETOR", "missing.txt", "text", [
        *trees,
        "rank --model {W}/lambdamart.model --letor {in} --out {out}/r.run",
        "inspect {W}/lambdamart.model --letor {in} --repeats 2",
        "doctor {in}"])
    yield Reader("LETOR, compressed", "LETOR", "train.txt.gz", "binary", [
        "train ranksvm --letor {in} --max-size 200K --out {out}/m",
        "rank --model {W}/ranksvm.model --letor {in} --out {out}/r.run",
        "doctor {in} --max-size 200K"])


def weights():
    """Weights of queries and of documents."""
    for name, option, kinds in (("query_weights.tsv", "--query-weights", [*RANKERS][:4] + [*BOOSTED]),
                                ("document_weights.tsv", "--document-weights", ["listnet", *BOOSTED])):
        yield Reader(name, "weights", name, "text", [
            f"train {kind} --letor {{W}}/train.txt {option} {{in}} {RANKERS[kind]} --out {{out}}/m"
            for kind in kinds if can_train(kind)])


def models(text, why, why_list):
    for kind in MATCHING:
        other = "pls" if kind == "bm25" else "bm25"
        commands = [
            f"rank --model {{in}} {D} --out {{out}}/r.run",
            f"rank --model {{in}} {D} --candidates judged --out {{out}}/r.run --format json",
            f"explain --model {{in}} {D} {why}",
            "inspect {in}",
            "inspect {in} --format json"]
        if kind != "stack":
            commands.append(f"features {D} --of {{in}} {{W}}/{other}.model --candidates judged --out {{out}}/f.txt")
        if kind in ("rmls", "pls", "lsi-dt", "ssi", "svdfeature", "bltm", "sparse-preference"):
            commands.append(f"related --model {{in}} --min-documents 1 '{text}'")
        if kind in ("rmls", "pls", "lsi-dt", "lsi-qd", "combination"):
            clicks = D if kind != "combination" else ""
            commands.append(f"export query-vectors {{in}} --queries {{W}}/queries.tsv {clicks} --out {{out}}/v.tsv")
        if kind == "sparse-preference":
            commands += [f"export synonyms {{in}} {D} --min-support 0 --threshold 0.01 --out {{out}}/s",
                         f"update {{in}} --tuples {{W}}/tuples.tsv {D} --out {{out}}/m"]
        if kind not in ("combination", "stack"):
            commands += [f"train {way} --of {{in}} {{W}}/{other}.model {D} --out {{out}}/m"
                         for way in ("combination", "stack --set ranker=listnet")]
        yield Reader(f"{kind}.model", "models", f"{kind}.model", "model", commands, protected=True)
    for kind in RANKERS:
        features = "--query-features {W}/vectors.tsv" if kind == "query-dependent" else ""
        commands = [
            f"rank --model {{in}} {L} {features} --out {{out}}/r.run",
            f"explain --model {{in}} {why_list} {features}",
            "inspect {in}",
            "inspect {in} --format json"]
        if not features:
            commands.append(f"inspect {{in}} {L} --repeats 2")
        if kind not in (*BOOSTED, "query-dependent"):
            commands.append("export elasticsearch {in} --out {out}/es.json")
        if kind == "perceptron":
            commands.append("update {in} --lists {W}/lists.jsonl --out {out}/m")
        yield Reader(f"{kind}.model", "models", f"{kind}.model", "model", commands, protected=True)


def dataset(path, why):
    commands = [
        "rank --model {W}/bm25.model --data {data} --out {out}/r.run",
        "features --data {data} --of {W}/bm25.model --clicks --out {out}/f.txt",
        f"explain --model {{W}}/bm25.model --data {{data}} {why}",
        "rank --model {W}/rmls.model --data {data} --split validation --out {out}/r.run",
        "rank --model {W}/random-walk.model --data {data} --out {out}/r.run",
        f"explain --model {{W}}/rmls.model --data {{data}} {why}",
        "search --model {W}/rmls.model --data {data} shoe --format json",
        "train rmls --set d=4 --set iterations=2 --data {data} --out {out}/m",
        "train random-walk --data {data} --out {out}/m",
        "train sparse-preference --set tuples=50 --trial-tuples 100 --data {data} --out {out}/m",
        "train bltm --set topics=3 --data {data} --out {out}/m",
        "train ssi --set d=2 --set iterations=1 --set tuples=200 --data {data} --out {out}/m",
        "eval --data {data} --run {W}/pls.run --by clicks",
        "doctor {data}"]
    for table in sorted(path.glob("data/*.parquet")):
        yield Reader(table.name, "tables", f"data/{table.name}", "binary", commands, protected=True, folder="data")
    yield Reader("manifest.json", "manifest", "data/manifest.json", "json", commands, protected=True, folder="data")
    for file in sorted(path.glob("data/index/*/*")):
        if file.stat().st_size:
            form = "json" if file.suffix == ".json" else "binary"
            name = f"index {file.name if form == 'json' else file.suffix}"
            yield Reader(name, "index", str(file.relative_to(path)), form, commands[:3], protected=True, folder="data")


def former_datasets(path):
    """Datasets of former versions, and data for training again."""
    for folder in GOLDEN.values():
        commands = [f"rank --model {{W}}/{folder}.model --data {{{folder}}} --out {{out}}/r.run",
                    f"train pls --set d=2 --data {{{folder}}} --out {{out}}/m",
                    f"eval --data {{{folder}}} --run {{W}}/golden.run --by clicks",
                    f"doctor {{{folder}}}"]
        for file in sorted((path / folder).glob("*.*")):
            # Version 0.1.0 has no hash over the manifest.
            protected = file.suffix == ".parquet" or folder != "data_010"
            form = "json" if file.suffix == ".json" else "binary"
            yield Reader(f"{folder} {file.name}", "former datasets", f"{folder}/{file.name}", form, commands, protected,
                         folder=folder)
    for file in sorted(path.glob("refit/*.*")):
        yield Reader(f"refit {file.name}", "refit", f"refit/{file.name}", "json" if file.suffix == ".json" else "binary", [
            f"compare {D} --refit {{refit}} --models pls --trials 1 --out {{out}}/c"], protected=True, folder="refit")


def comparisons(path):
    """Folders of comparisons: of models, of rankers, and of a former version."""
    pages = {
        "comparison": [f"report {{comparison}} {D} --out {{out}}/r.html",
                       f"compare {D} --plan {{W}}/plan.toml --out {{comparison}}"],
        "of_rankers": ["report {of_rankers} --out {out}/r.html",
                       f"compare --letor {FOLDS} --plan {{W}}/rankers.toml --out {{of_rankers}}"],
        "comparison_010": ["report {comparison_010} --data {W}/data_010 --out {out}/r.html"],
    }
    forms = {".json": "json", ".jsonl": "json lines", ".run": "text", ".model": "model"}
    for folder, commands in pages.items():
        for file in sorted(path.glob(f"{folder}/**/*")):
            if file.suffix in forms:
                name = str(file.relative_to(path))
                yield Reader(name, "comparison", name, forms[file.suffix], commands, changes_input=True, folder=folder)
