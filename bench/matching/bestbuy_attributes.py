"""A stack with and without attributes of the products on a real click log: Best Buy searches, split by time.

    python bench/matching/bestbuy_attributes.py --program target/release/matchrank [--seeds 1,2] [--work FOLDER]

Reads the files that bestbuy.py reads. The attributes are those of the catalogue: price, mean and number of the reviews,
day of release, manufacturer, platform, format and age rating. The catalogue is from July 2012, nine months after the
clicks, so prices and reviews are later than what searchers saw. The stack ranks by BM25, PLS and click counts; its
ranker learns from the validation clicks, and chooses itself there. Prints a Markdown table of the test figures.
"""

import argparse
import csv
import gzip
import json
import os
import pathlib
import sys
import tempfile
import xml.etree.ElementTree

from bestbuy import REPOSITORY, Program, read_clicks, read_documents, say

ATTRIBUTES = {"price": "salePrice", "review_mean": "customerReviewAverage", "reviews": "customerReviewCount",
              "released": "releaseDate", "manufacturer": "manufacturer", "platform": "platform", "format": "format",
              "age_rating": "esrbRating"}
# The weight of the names that validation chooses for BM25 in bestbuy.py.
NAME_WEIGHT = 10
PARTS = ["bm25", "pls", "clicks"]
STACKS = {"attributes": [], "no attributes": ["--set", "attributes=false"],
          "attributes, no clicks": ["--set", "clicks=false"],
          "no attributes, no clicks": ["--set", "clicks=false", "--set", "attributes=false"]}


def read_attributes(source):
    """The attributes of the products by SKU; None where the catalogue has no value."""
    attributes = {}
    with gzip.open(source / "small_product_data.xml.gz") as file:
        for _, element in xml.etree.ElementTree.iterparse(file):
            if element.tag == "product":
                values = {name: (element.findtext(tag) or "").strip() or None for name, tag in ATTRIBUTES.items()}
                attributes.setdefault(element.findtext("sku").strip(), values)
                element.clear()
    return attributes


def write_files(source, work):
    documents, attributes = read_documents(source), read_attributes(source)
    clicks = [click for click in read_clicks(source) if click[2] in documents]
    with open(work / "clicks.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("time", "query", "document"), *clicks])
    with open(work / "documents.jsonl", "w", encoding="utf-8") as file:
        for sku, text in documents.items():
            file.write(json.dumps({"sku": sku, **text, **attributes[sku]}) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=REPOSITORY / "target/release/matchrank")
    parser.add_argument("--work", type=pathlib.Path, help="folder to work in and to keep [default: a temporary one]")
    parser.add_argument("--seeds", default="1,2", help="seeds of training [default: 1,2]")
    arguments = parser.parse_args()
    source = pathlib.Path(os.environ.get("MATCHRANK_DATA", REPOSITORY.parent / "shared/data")) / "bestbuy"
    if not source.is_dir():
        sys.exit(f"skipped: no folder {source}; MATCHRANK_DATA names the folder that holds it")
    with tempfile.TemporaryDirectory() as temporary:
        work = arguments.work or pathlib.Path(temporary)
        work.mkdir(parents=True, exist_ok=True)
        write_files(source, work)
        Program(arguments.program, work, 1).run(
            "ingest", "--clicks", "clicks.csv", "--documents", "documents.jsonl", "--split", "time", "--holdout", "0.1,0.2",
            "--text", "name,short_description,long_description", "--field-weight", f"name={NAME_WEIGHT}",
            "--attributes", ",".join(ATTRIBUTES), "--out", "data", "--force")
        print("| seed | stack | ranker | validation | test NDCG@10 | seen queries | unseen queries | p |")
        print("|---|---|---|---|---|---|---|---|")
        for seed in arguments.seeds.split(","):
            measure(Program(arguments.program, work, seed), seed)


def measure(program, seed):
    for part in PARTS:
        program.run("train", part, "--data", "data", "--seed", seed, "--out", f"{part}.model")
    kept = {}
    for name, settings in STACKS.items():
        say(f"seed {seed}: {name}")
        file = name.replace(", ", "-").replace(" ", "-")
        program.run("train", "stack", "--data", "data", "--of", *(f"{part}.model" for part in PARTS), *settings,
                    "--seed", seed, "--out", f"{file}.model")
        program.run("rank", "--model", f"{file}.model", "--data", "data", "--out", f"{file}.run")
        trials = json.loads(program.run("inspect", f"{file}.model", "--format", "json"))["trials"]
        kept[name] = (file, next(trial for trial in trials if trial.get("kept")))
    for names in [list(STACKS)[:2], list(STACKS)[2:]]:
        runs = [f"{kept[name][0]}.run" for name in names]
        figures = json.loads(program.run("eval", "--data", "data", "--run", *runs, "--measures", "ndcg@10", "--by", "seen",
                                         "--significance", "t", "--format", "json"))
        p = figures["significance"]["comparisons"][0]["p"]
        for name, run in zip(names, figures["runs"]):
            bins = {found["bin"]: found["measures"]["ndcg@10"] for found in run["bins"]}
            trial = kept[name][1]
            print(f"| {seed} | {name} | {trial['ranker']} | {trial['validation']:.4f} | {run['measures']['ndcg@10']:.4f} | "
                  f"{bins['seen']:.4f} | {bins['unseen']:.4f} | {p:.2g} |", flush=True)


if __name__ == "__main__":
    main()
