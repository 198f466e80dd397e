"""Every matching model on a real click log: Best Buy searches, split by time.

    python bench/matching/bestbuy.py --program target/release/matchrank [--names] [--refit] [--work FOLDER]

Reads clicks_train_part.csv.gz, clicks_test_part.csv.gz and small_product_data.xml.gz of the folder `bestbuy`
in MATCHRANK_DATA, else in ../shared/data beside the repository. The last 20 % of the clicks are the test, the
10 % before them choose every parameter and every weight of a combination, by NDCG@10. The test is ranked once,
with what was chosen. Prints a Markdown table; progress goes to stderr.

--names adds the name of every product to the training, as a query that led to one click on this product. Words
that no query of the training has are then learned too, and with them products that are new.
--refit trains what was chosen once more, on the first 80 % of the clicks: the split of the peers' figures.

Two means are given, each apart for queries that training saw and for others:
- over queries, from `matchrank eval`: all documents clicked for a query in the test are its relevant ones;
- over clicks, worked out here: every click counts, and the clicked document is the only relevant one.
"""

import argparse
import collections
import csv
import datetime
import gzip
import itertools
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import unicodedata
import xml.etree.ElementTree

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]

# Weights of the products' names among the text fields; the one that is best for BM25 is used for all models.
NAME_WEIGHTS = [1, 3, 10, 30]
GRIDS = {
    "bm25": {"b": [0.25, 0.5, 0.75, 1], "k1": [0.6, 1.2, 2]},
    "lsi-dt": {"d": [50, 100, 200, 300, 400]},
    "lsi-qd": {"d": [50, 100, 200, 300, 350]},
    "random-walk": {"steps": [1, 3, 5, 7, 9], "self_transition": [0.1, 0.5, 0.9]},
    "pls": {"d": [100, 200, 300, 400], "weight_power": [0, 0.25, 0.5, 0.75], "click_weight": [0.5, 1, 2]},
    "rmls": {"beta": [0.3, 0.5, 0.7], "gamma": [0, 0.3], "click_weight": [0.5, 1, 2, 4], "idf": ["smooth", "bm25"]},
    "ssi": {"margin": [0.2, 0.5], "click_weight": [0.5, 1, 2]},
    "svdfeature": {"d": [50, 100], "click_weight": [0.5, 1, 2]},
    "bltm": {"topics": [50, 100, 200], "topic": [0.1, 0.3]},
    "sparse-preference": {"tuples": [300000], "margin": [0.3, 1], "c": [1, 2, 5], "lambda": [1e-6]},
}
COMBINATIONS = [
    ("lsi-qd", "bm25"),
    ("random-walk", "bm25"),
    ("pls", "bm25"),
    ("rmls", "bm25"),
    ("rmls", "random-walk"),
    ("pls", "rmls"),
    ("rmls + random-walk", "bm25"),
    ("pls + rmls", "bm25"),
]
# Rankers over the scores of all models above; which ranker, and how large, they choose in folds of the validation
# queries. LambdaMART is tried where LightGBM is there (MATCHRANK_LIGHTGBM), else ListNet alone.
STACKS = {"stack of all": {}, "stack of all, with clicks": {"clicks": "true"}}
OWN_CLICKS = "own clicks, then popularity"


def say(message):
    print(message, file=sys.stderr, flush=True)


def normalised(query):
    return " ".join(unicodedata.normalize("NFKC", query).lower().split())


def read_clicks(source):
    """(time in ms, query, document) of every click, by time."""
    clicks = []
    for part in ["clicks_train_part.csv.gz", "clicks_test_part.csv.gz"]:
        with gzip.open(source / part, "rt", encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                moment = datetime.datetime.fromisoformat(row["click_time"].split(".")[0])
                fraction = float("0." + (row["click_time"].split(".") + ["0"])[1])
                seconds = int(moment.replace(tzinfo=datetime.timezone.utc).timestamp())
                clicks.append((seconds * 1000 + round(fraction * 1000), normalised(row["query"]), row["sku"]))
    return sorted(clicks)


def read_documents(source):
    """The products by SKU; the file lists each of them twice."""
    fields = {"name": "name", "short_description": "shortDescription", "long_description": "longDescription"}
    documents = {}
    with gzip.open(source / "small_product_data.xml.gz") as file:
        for _, element in xml.etree.ElementTree.iterparse(file):
            if element.tag == "product":
                text = {name: (element.findtext(tag) or "").strip() for name, tag in fields.items()}
                documents.setdefault(element.findtext("sku").strip(), text)
                element.clear()
    return documents


class Program:
    """The command line, in a working folder."""

    def __init__(self, program, work):
        self.program, self.work = pathlib.Path(program).resolve(), work

    def run(self, *arguments):
        command = [str(self.program), *map(str, arguments), "--quiet"]
        done = subprocess.run(command, cwd=self.work, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"failed: {' '.join(command)}\n{done.stderr}")
        return done.stdout

    def ingest(self, validation, test, name_weight):
        data = f"data-{validation:.2f}-{test:.2f}-name{name_weight}"
        self.run("ingest", "--clicks", "clicks.csv", "--queries", "queries.csv", "--documents", "documents.jsonl",
                 "--text", "name,short_description,long_description", "--field-weight", f"name={name_weight}",
                 "--split", "time", "--holdout", f"{validation},{test}", "--out", data, "--force")
        return data

    def train(self, kind, data, parameters, out):
        settings = [part for name, value in parameters.items() for part in ("--set", f"{name}={value}")]
        return json.loads(self.run("train", kind, "--data", data, *settings, "--out", out, "--format", "json"))

    def combine(self, data, first, second, out):
        return json.loads(self.run("train", "combination", "--data", data, "--of", first, second, "--out", out,
                                   "--format", "json"))

    def stack(self, data, parts, parameters, out):
        """Chooses and trains a ranker over models on the validation queries."""
        settings = [part for name, value in parameters.items() for part in ("--set", f"{name}={value}")]
        return json.loads(self.run("train", "stack", "--data", data, "--of", *parts, *settings, "--out", out,
                                   "--format", "json"))

    def stack_again(self, data, parts, stack, out):
        """The ranker of a stack over the same models, trained with more clicks."""
        self.run("train", "stack", "--data", data, "--of", *parts, "--ranker-of", stack, "--out", out)

    def rank(self, model, data, split, out):
        self.run("rank", "--model", model, "--data", data, "--split", split, "--top", 1000, "--out", out)
        return out

    def evaluate(self, data, split, run):
        text = self.run("eval", "--data", data, "--split", split, "--run", run, "--measures", "ndcg@10,r@10", "--by",
                        "seen", "--format", "json", "--significance", "none")
        return json.loads(text)["runs"][0]

    def validation(self, model, data):
        run = self.rank(model, data, "validation", "validation.run")
        return self.evaluate(data, "validation", run)["measures"]["ndcg@10"]


def tune(program, kind, data):
    """The parameters of the grid that are best on the validation queries; of equal ones the first."""
    best = None
    names = list(GRIDS[kind])
    for values in itertools.product(*GRIDS[kind].values()):
        parameters = dict(zip(names, values))
        report = program.train(kind, data, parameters, "candidate.model").get("report") or {}
        figure = report.get("validation")
        if figure is None:
            figure = program.validation("candidate.model", data)
        if report.get("best"):
            parameters["iterations"] = report["best"]
        if best is None or figure > best[0]:
            best = (figure, parameters)
    return best


def read_run(path):
    """Documents and scores of every query, as ranked."""
    ranked = collections.defaultdict(list)
    with open(path, encoding="utf-8") as file:
        for line in file:
            query, _, document, _, score, _ = line.split()
            ranked[query].append((document, float(score)))
    return ranked


def write_run(path, ranked):
    with open(path, "w", encoding="utf-8") as file:
        for query, documents in ranked.items():
            for rank, (document, score) in enumerate(documents, 1):
                file.write(f"{query} Q0 {document} {rank} {score:.9g} combined\n")
    return path


def combine_runs(first, second, weight, documents):
    """What `train combination` does, with a weight that is known; runs have to hold all documents."""
    combined = {}
    for query in first.keys() | second.keys():
        total = collections.Counter()
        for share, run in [(weight, first), (1 - weight, second)]:
            scores = dict(run.get(query, []))
            mean = math.fsum(scores.values()) / len(documents)
            deviation = statistics.pstdev([scores.get(document, 0.0) for document in documents], mean)
            for document in documents:
                total[document] += share * (scores.get(document, 0.0) - mean) / deviation if deviation > 0 else 0.0
        combined[query] = total.most_common()
    return combined


def over_clicks(ranked, clicks, seen):
    """[NDCG@10, recall@10] of the clicked document, mean over the clicks; apart for seen and unseen queries."""
    places = {query: {document: place for place, (document, _) in enumerate(documents[:10])}
              for query, documents in ranked.items()}
    sums = {True: [0.0, 0.0, 0], False: [0.0, 0.0, 0]}
    for query, document in clicks:
        group = sums[query in seen]
        place = places.get(query, {}).get(document)
        if place is not None:
            group[0] += 1 / math.log2(2 + place)
            group[1] += 1
        group[2] += 1
    return {group: (ndcg / n, recall / n) for group, (ndcg, recall, n) in sums.items()}


def own_clicks(training, queries):
    """Documents by the clicks of the query itself, then by their clicks in all."""
    counts, popular = collections.defaultdict(collections.Counter), collections.Counter()
    for query, document in training:
        counts[query][document] += 1
        popular[document] += 1
    ranked = {}
    for query in queries:
        order = sorted(popular, key=lambda document: (-counts[query][document], -popular[document], document))
        ranked[query] = [(document, -float(rank)) for rank, document in enumerate(order)]
    return ranked


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=REPOSITORY / "target/release/matchrank")
    parser.add_argument("--work", type=pathlib.Path, help="folder to work in and to keep [default: a temporary one]")
    parser.add_argument("--names", action="store_true", help="learn from the names of the products as queries too")
    parser.add_argument("--refit", action="store_true", help="train what was chosen on validation and training clicks")
    arguments = parser.parse_args()
    data_folder = pathlib.Path(os.environ.get("MATCHRANK_DATA", REPOSITORY.parent / "shared/data"))
    if not (data_folder / "bestbuy").is_dir():
        sys.exit(f"skipped: no folder {data_folder / 'bestbuy'}; MATCHRANK_DATA names the folder that holds it")
    with tempfile.TemporaryDirectory() as temporary:
        work = arguments.work or pathlib.Path(temporary)
        work.mkdir(parents=True, exist_ok=True)
        measure(Program(arguments.program, work), data_folder / "bestbuy", arguments.names, arguments.refit)


def measure(program, source, names, refit):
    began = time.monotonic()
    work = program.work
    documents = read_documents(source)
    clicks = [click for click in read_clicks(source) if click[2] in documents]
    n_names = len(documents) if names else 0
    if names:
        first = clicks[0][0] - 1
        clicks = [(first, normalised(text["name"]), sku) for sku, text in documents.items()] + clicks
    # Shares of the log that are shares of the clicks.
    share = 1 - n_names / len(clicks)
    ids = {query: f"q{number}" for number, query in enumerate(sorted({query for _, query, _ in clicks}))}
    clicks = [(moment, ids[query], document) for moment, query, document in clicks]
    with open(work / "clicks.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("time", "query_id", "document"), *clicks])
    with open(work / "queries.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("query_id", "query"), *((id, query) for query, id in ids.items())])
    with open(work / "documents.jsonl", "w", encoding="utf-8") as file:
        for sku, text in documents.items():
            file.write(json.dumps({"sku": sku, **text}) + "\n")

    # Choose, on the validation queries.
    chosen = {}
    for name_weight in NAME_WEIGHTS:
        figure, parameters = tune(program, "bm25", program.ingest(0.1 * share, 0.2 * share, name_weight))
        if "bm25" not in chosen or figure > chosen["bm25"][0]:
            chosen["bm25"], best_name_weight = (figure, parameters), name_weight
    data = program.ingest(0.1 * share, 0.2 * share, best_name_weight)
    say(f"weight of the name {best_name_weight}")
    weights = {}
    for kind in GRIDS:
        if kind not in chosen:
            chosen[kind] = tune(program, kind, data)
        program.train(kind, data, chosen[kind][1], f"{kind}.model")
        say(f"{kind}: {chosen[kind]} ({time.monotonic() - began:.0f} s)")
    for first, second in COMBINATIONS:
        name = f"{first} + {second}"
        report = program.combine(data, f"{first}.model", f"{second}.model", f"{name}.model")
        weights[name] = round(report["weight"], 1)
        figure = max(point["validation_ndcg@10"] for point in report["curve"])
        chosen[name] = (figure, {"a": weights[name]})
        say(f"{name}: {chosen[name]} ({time.monotonic() - began:.0f} s)")
    parts = [f"{kind}.model" for kind in GRIDS]
    for name, parameters in STACKS.items():
        trials = program.stack(data, parts, parameters, f"{name}.model")["trials"]
        kept = max(trials, key=lambda trial: trial["validation"])
        size = {key: kept[key] for key in ("lambda", "leaves", "trees") if kept[key] is not None}
        chosen[name] = (kept["validation"], {"ranker": kept["ranker"], **size})
        say(f"{name}: {chosen[name]} ({time.monotonic() - began:.0f} s)")

    # Rank the test, once.
    if refit:
        data = program.ingest(0, 0.2 * share, best_name_weight)
        for kind in GRIDS:
            program.train(kind, data, chosen[kind][1], f"{kind}.model")
    for kind in GRIDS:
        program.rank(f"{kind}.model", data, "test", f"{kind}.run")
    for first, second in COMBINATIONS:
        name = f"{first} + {second}"
        if refit:
            runs = [read_run(work / f"{part}.run") for part in (first, second)]
            write_run(work / f"{name}.run", combine_runs(*runs, weights[name], documents))
        else:
            program.rank(f"{name}.model", data, "test", f"{name}.run")
    for name in STACKS:
        if refit:
            program.stack_again(data, parts, f"{name}.model", f"{name}, again.model")
        program.rank(f"{name}{', again' * refit}.model", data, "test", f"{name}.run")

    # Measure.
    split = json.loads((work / data / "manifest.json").read_text())["split"]
    training = [click[1:] for click in clicks if click[0] < split["validation_from"]]
    test = [click[1:] for click in clicks if click[0] >= split["test_from"]]
    seen = {query for query, _ in training}
    write_run(work / f"{OWN_CLICKS}.run", own_clicks(training[n_names:], sorted({query for query, _ in test})))
    n_clicks = sum(query in seen for query, _ in test)
    rows = []
    for name in [OWN_CLICKS, *chosen]:
        bins = {found["bin"]: found for found in program.evaluate(data, "test", f"{name}.run")["bins"]}
        n_queries = {True: bins["seen"]["queries"], False: bins["unseen"]["queries"]}
        assert n_queries[True] == len({query for query, _ in test if query in seen}), "not the split of the program"
        by_click = over_clicks(read_run(work / f"{name}.run"), test, seen)
        figures = [by_click[True][0], by_click[False][0], by_click[True][1], by_click[False][1]]
        figures += [bins[bin]["measures"][of] for of in ("ndcg@10", "r@10") for bin in ("seen", "unseen")]
        validation, parameters = chosen.get(name, (None, {}))
        rows.append([name, "" if validation is None else f"{validation:.3f}", *(f"{x:.3f}" for x in figures),
                     ", ".join(f"{key} {value}" for key, value in parameters.items())])
    and_names = f" and {n_names} names of products" if names else ""
    shares = "80 %" if refit else "70 %"
    print(f"Trained on the first {shares} of the clicks ({len(training) - n_names:,}){and_names}; "
          f"weight of the name {best_name_weight}.")
    print(f"Test: {n_clicks:,} clicks of {n_queries[True]} seen queries, {len(test) - n_clicks:,} of "
          f"{n_queries[False]} unseen ones. Every pair of figures is seen / unseen.\n")
    print("| model | validation | NDCG@10 over clicks | recall@10 over clicks | NDCG@10 over queries "
          "| recall@10 over queries | chosen |\n|---|---|---|---|---|---|---|")
    for name, validation, *figures, parameters in rows:
        pairs = [f"{figures[i]} / {figures[i + 1]}" for i in range(0, 8, 2)]
        print(f"| {name} | {validation} | {' | '.join(pairs)} | {parameters} |")
    say(f"{time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
