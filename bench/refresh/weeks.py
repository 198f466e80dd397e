"""Four weeks of a shop: each is added to the dataset and the live model is refreshed, new products included.

    python bench/refresh/weeks.py --program target/release/matchrank [--work FOLDER] [--models LIST] [--trials N]

Reads clicks_train_part.csv.gz, clicks_test_part.csv.gz and small_product_data.xml.gz of the folder `bestbuy` in
MATCHRANK_DATA, else in ../shared/data beside the repository. The clicks are cut into four parts of equal time. A product
is in the catalogue from the part in which it is first clicked; products that nobody clicks are there from the start.

Part 1 is ingested, models are compared on it, and the chosen one goes live. Parts 2 and 3 are added by `refresh`. After
each, three models rank the queries of the next part: the live one, the one that was live before, and one trained from
nothing: all files ingested once more, and the comparison repeated with its tuning. NDCG@10 is a mean over queries; the
products clicked for a query are its relevant ones. A query is seen if the log so far has it. The p-value is of a paired
t-test over queries, the live model against the one from nothing.
"""

import argparse
import csv
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "bench/matching"))
from bestbuy import read_clicks, read_documents  # noqa: E402

PARTS = 4


def p_value(differences):
    """Two-sided p-value of a t-test, by the normal distribution: there are hundreds of queries."""
    if len(differences) < 2 or not any(differences):
        return 1.0
    error = statistics.stdev(differences) / math.sqrt(len(differences))
    return math.erfc(abs(statistics.fmean(differences)) / error / math.sqrt(2))


class Shop:
    def __init__(self, program, work):
        self.program, self.work = pathlib.Path(program).resolve(), work

    def run(self, *arguments, allowed=(0,)):
        command = [str(self.program), *map(str, arguments), "--quiet"]
        began = time.monotonic()
        done = subprocess.run(command, cwd=self.work, capture_output=True, text=True)
        if done.returncode not in allowed:
            sys.exit(f"failed ({done.returncode}): {' '.join(command)}\n{done.stderr}{done.stdout}")
        return done.stdout, time.monotonic() - began

    def ndcg(self, model, data, clicked):
        """NDCG@10 of every query, by its text."""
        queries = sorted(clicked)
        with open(self.work / "next.tsv", "w", encoding="utf-8") as file:
            file.writelines(f"n{number}\t{query}\n" for number, query in enumerate(queries))
        self.run("rank", "--model", model, "--data", data, "--queries", "next.tsv", "--top", 10, "--out", "next.run")
        gains = dict.fromkeys(queries, 0.0)
        with open(self.work / "next.run", encoding="utf-8") as file:
            for line in file:
                number, _, document, rank, _, _ = line.split()
                query = queries[int(number[1:])]
                gains[query] += (document in clicked[query]) / math.log2(1 + int(rank))
        return {query: gain / sum(1 / math.log2(2 + i) for i in range(min(10, len(clicked[query]))))
                for query, gain in gains.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=REPOSITORY / "target/release/matchrank")
    parser.add_argument("--work", type=pathlib.Path, help="folder to work in and to keep [default: a temporary one]")
    parser.add_argument("--models", default="bm25,clicks,pls,sparse-preference,stack")
    parser.add_argument("--trials", type=int, default=5)
    arguments = parser.parse_args()
    source = pathlib.Path(os.environ.get("MATCHRANK_DATA", REPOSITORY.parent / "shared/data")) / "bestbuy"
    if not source.is_dir():
        sys.exit(f"skipped: no folder {source}; MATCHRANK_DATA names the folder that holds it")
    with tempfile.TemporaryDirectory() as temporary:
        work = arguments.work or pathlib.Path(temporary)
        work.mkdir(parents=True, exist_ok=True)
        measure(Shop(arguments.program, work), source, arguments)


def write(work, documents, clicks):
    """Cuts clicks and catalogue into parts; the queries of each part with what was clicked for them."""
    first, last = clicks[0][0], clicks[-1][0]
    part_of = lambda moment: min(PARTS - 1, (moment - first) * PARTS // (last - first + 1))
    parts = [[click for click in clicks if part_of(click[0]) == part] for part in range(PARTS)]
    enters = {}
    for moment, _, document in clicks:
        enters.setdefault(document, part_of(moment))
    for part, rows in enumerate(parts):
        with open(work / f"clicks{part}.csv", "w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([("time", "query", "document"), *rows])
        with open(work / f"documents{part}.jsonl", "w", encoding="utf-8") as file:
            for sku, text in documents.items():
                if enters.get(sku, 0) == part:
                    file.write(json.dumps({"id": sku, **text}) + "\n")
    clicked = []
    for rows in parts:
        of_query = {}
        for _, query, document in rows:
            of_query.setdefault(query, set()).add(document)
        clicked.append(of_query)
    return parts, clicked


def from_nothing(shop, part, arguments):
    """Ingests the first parts at once and compares models on them; the chosen model, and the seconds of both."""
    data, out = f"whole{part}", f"models{part}"
    files = lambda name, ending: [f"{name}{i}.{ending}" for i in range(part + 1)]
    _, ingesting = shop.run("ingest", "--clicks", *files("clicks", "csv"), "--documents", *files("documents", "jsonl"),
                            "--split", "time", "--out", data, "--force")
    _, comparing = shop.run("compare", "--data", data, "--models", arguments.models, "--trials", arguments.trials, "--out", out)
    chosen = json.loads((shop.work / out / "comparison.json").read_text())["chosen"]["name"]
    return f"{out}/models/{chosen}.model", chosen, ingesting + comparing


def measure(shop, source, arguments):
    work = shop.work
    documents = read_documents(source)
    clicks = [click for click in read_clicks(source) if click[2] in documents]
    parts, clicked = write(work, documents, clicks)
    print("| after part | products | live model | seen: live | before | from nothing | unseen: live | before | from nothing "
          "| live less nothing (p) | refresh | from nothing |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    model, chosen, _ = from_nothing(shop, 0, arguments)
    shop.run("ingest", "--clicks", "clicks0.csv", "--documents", "documents0.jsonl", "--split", "time", "--out", "shop", "--force")
    shop.run("refresh", "--data", "shop", "--live", "live", "--model", model)
    known = set(clicked[0])
    for part in range(1, PARTS - 1):
        (work / "before.model").write_bytes((work / "live/current.model").read_bytes())
        text, seconds = shop.run("refresh", "--data", "shop", "--live", "live", "--clicks", f"clicks{part}.csv",
                                 "--documents", f"documents{part}.jsonl", "--format", "json", allowed=(0, 1))
        refreshed = json.loads(text)
        nothing, _, nothing_seconds = from_nothing(shop, part, arguments)
        same = all((work / "shop" / name).read_bytes() == (work / f"whole{part}" / name).read_bytes()
                   for name in ["manifest.json", "documents.parquet", "responses.parquet", "judgments.parquet"])
        assert same, "the dataset differs from one ingest of everything"
        known |= set(clicked[part])
        of = {name: shop.ndcg(path, "shop", clicked[part + 1])
              for name, path in [("live", "live/current.model"), ("before", "before.model"), ("nothing", nothing)]}
        mean = lambda name, seen: statistics.fmean(
            value for query, value in of[name].items() if (query in known) == seen)
        pairs = [of["live"][query] - of["nothing"][query] for query in of["live"]]
        figures = " | ".join(f"{mean(name, seen):.3f}" for seen in (True, False) for name in ("live", "before", "nothing"))
        n_products = sum(1 for _ in open(work / f"documents{part}.jsonl", encoding="utf-8"))
        print(f"| {part + 1} | {n_products} new | {chosen}, {refreshed['outcome']} | {figures} | "
              f"{statistics.fmean(pairs):+.4f} ({p_value(pairs):.2f}) | {seconds:.0f} s | {nothing_seconds:.0f} s |", flush=True)
        print(json.dumps({"drift": refreshed["drift"], "comparison": refreshed["comparison"], "seconds": refreshed["seconds"]}),
              file=sys.stderr)


if __name__ == "__main__":
    main()
