"""Every matching model on a real click log: Best Buy searches, split by time, by `matchrank compare`.

    python bench/matching/bestbuy.py --program target/release/matchrank [--names] [--refit] [--seed N] [--work FOLDER]

Reads clicks_train_part.csv.gz, clicks_test_part.csv.gz and small_product_data.xml.gz of the folder `bestbuy`
in MATCHRANK_DATA, else in ../shared/data beside the repository. The last 20 % of the clicks are the test, the
10 % before them choose every parameter and every weight of a combination, by NDCG@10. The test is ranked once,
with what was chosen. Prints the table of `compare`, and then a Markdown table; progress goes to stderr.

--names adds the name of every product to the training, as a query that led to one click on this product. Words
that no query of the training has are then learned too, and with them products that are new.
--refit trains what was chosen once more, on the first 80 % of the clicks: the split of the peers' figures.

Two means are given, each apart for queries that training saw and for others:
- over queries, those of `compare`: all documents clicked for a query in the test are its relevant ones;
- over clicks, worked out here: every click counts, and the clicked document is the only relevant one.
"""

import argparse
import collections
import csv
import datetime
import gzip
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unicodedata
import xml.etree.ElementTree

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]

# Weights of the products' names among the text fields; the one that is best for BM25, with the best of these settings,
# is used for all models.
NAME_WEIGHTS = [1, 3, 10, 30]
BM25 = {"b": [0.25, 0.5, 0.75, 1], "k1": [0.6, 1.2, 2]}
MODELS = ["bm25", "clicks", "lsi-dt", "lsi-qd", "random-walk", "pls", "rmls", "ssi", "svdfeature", "bltm", "sparse-preference"]
COMBINATIONS = ["clicks+bm25", "lsi-qd+bm25", "random-walk+bm25", "pls+bm25", "rmls+bm25", "rmls+random-walk", "pls+rmls"]
# Rankers over the scores of all models above; which ranker, and how large, they choose in folds of the validation
# queries. LambdaMART is tried where LightGBM is there (MATCHRANK_LIGHTGBM), else ListNet alone.
STACKS = {"stack without clicks": "set = { clicks = false }\n", "stack": ""}
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

    def __init__(self, program, work, seed):
        self.program, self.work, self.seed = pathlib.Path(program).resolve(), work, seed

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
                 "--split", "time", "--holdout", f"{validation},{test}", "--grades", "binary", "--out", data, "--force")
        return data

    def tuned_bm25(self, data):
        """What BM25 is worth on the validation queries with the best of its settings."""
        vary = [part for name, values in BM25.items() for part in ("--vary", f"{name}={','.join(map(str, values))}")]
        text = self.run("tune", "bm25", "--data", data, "--strategy", "grid", *vary, "--trials", 100, "--format", "json")
        return json.loads(text)["best"]["validation"]

    def compare(self, data, refit, plan, out):
        again = ["--refit", refit] if refit else []
        again += ["--seed", self.seed]
        say(f"comparing; results appear in {self.work / out}")
        table = self.run("compare", "--data", data, *again, "--plan", plan, "--out", out)
        return table, json.loads((self.work / out / "comparison.json").read_text())


def plan():
    """The plan of the comparison, as TOML."""
    lines = ["models = " + json.dumps([*MODELS, *COMBINATIONS])]
    for name, settings in STACKS.items():
        lines += ["[[model]]", f'name = "{name}"', 'kind = "stack"', settings]
    return "\n".join(lines) + "\n"


def read_run(path):
    """Documents and scores of every query, as ranked."""
    ranked = collections.defaultdict(list)
    with open(path, encoding="utf-8") as file:
        for line in file:
            query, _, document, _, score, _ = line.split()
            ranked[query].append((document, float(score)))
    return ranked


def over_clicks(ranked, clicks, seen):
    """NDCG@10 and recall@10 of the clicked document, means over the clicks, each of seen and of unseen queries."""
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
    return [sums[group][of] / sums[group][2] for of in (0, 1) for group in (True, False)]


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
    parser.add_argument("--seed", type=int, default=1, help="seed of the comparison [default: 1]")
    arguments = parser.parse_args()
    data_folder = pathlib.Path(os.environ.get("MATCHRANK_DATA", REPOSITORY.parent / "shared/data"))
    if not (data_folder / "bestbuy").is_dir():
        sys.exit(f"skipped: no folder {data_folder / 'bestbuy'}; MATCHRANK_DATA names the folder that holds it")
    with tempfile.TemporaryDirectory() as temporary:
        work = arguments.work or pathlib.Path(temporary)
        work.mkdir(parents=True, exist_ok=True)
        program = Program(arguments.program, work, arguments.seed)
        measure(program, data_folder / "bestbuy", arguments.names, arguments.refit)


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

    # Choose, on the validation queries; rank the test, once.
    ingested = {weight: program.ingest(0.1 * share, 0.2 * share, weight) for weight in NAME_WEIGHTS}
    best_name_weight = max(NAME_WEIGHTS, key=lambda weight: program.tuned_bm25(ingested[weight]))
    say(f"weight of the name {best_name_weight}")
    (work / "plan.toml").write_text(plan())
    data, again = ingested[best_name_weight], None
    if refit:
        again = program.ingest(0, 0.2 * share, best_name_weight)
    out = f"comparison{'-refit' * refit}"
    table, comparison = program.compare(data, again, "plan.toml", out)
    print(table)

    # Measure.
    split = json.loads((work / (again or data) / "manifest.json").read_text())["split"]
    training = [click[1:] for click in clicks if click[0] < split["validation_from"]]
    test = [click[1:] for click in clicks if click[0] >= split["test_from"]]
    seen = {query for query, _ in training}
    own = own_clicks(training[n_names:], sorted({query for query, _ in test}))
    n_queries = {True: len({query for query, _ in test if query in seen})}
    n_queries[False] = len({query for query, _ in test}) - n_queries[True]
    n_clicks = sum(query in seen for query, _ in test)
    rows = [[OWN_CLICKS, "", *over_clicks(own, test, seen), "", ""]]
    for model in comparison["models"]:
        bins = {found["bin"]: found for found in model["bins"]["seen"]}
        assert bins["seen"]["queries"] == n_queries[True], "not the split of the program"
        run = work / out / "runs" / f"{model['name'].replace(' ', '_')}.run"
        by_click = over_clicks(read_run(run), test, seen)
        rows.append([model["name"], f"{model['validation']['ndcg@10']:.3f}", *by_click, bins["seen"]["ndcg@10"],
                     bins["unseen"]["ndcg@10"]])
    and_names = f" and {n_names} names of products" if names else ""
    shares = "80 %" if refit else "70 %"
    print(f"Trained on the first {shares} of the clicks ({len(training) - n_names:,}){and_names}; "
          f"weight of the name {best_name_weight}.")
    print(f"Test: {n_clicks:,} clicks of {n_queries[True]} seen queries, {len(test) - n_clicks:,} of "
          f"{n_queries[False]} unseen ones. Every pair of figures is seen / unseen.\n")
    print("| model | validation | NDCG@10 over clicks | recall@10 over clicks | NDCG@10 over queries |")
    print("|---|---|---|---|---|")
    for name, validation, *figures in rows:
        figures = [f"{figure:.3f}" if figure != "" else "" for figure in figures]
        pairs = [" / ".join(filter(None, figures[i:i + 2])) for i in range(0, 6, 2)]
        print(f"| {name} | {validation} | {' | '.join(pairs)} |")
    say(f"{time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
