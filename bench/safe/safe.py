"""Does learning ever hurt? BM25, every single model and the model that validation chooses, on six collections.

    python bench/safe/safe.py --program target/release/matchrank [--only NAME...] [--seeds 1,2,3] [--work FOLDER]
    python bench/safe/safe.py --table BEFORE AFTER

The collections are in MATCHRANK_DATA, else in ../shared/data beside the repository: nfcorpus, bestbuy (split by time),
cranfield and cacm (five folds each), scifact, and shares of 5, 10, 25 and 50 % of the training queries of nfcorpus and
bestbuy, drawn by the seed. Each is ingested and compared by `matchrank compare`, with the same models and trials.

Writes FOLDER/results.json: for every collection and seed the figures of every model, query by query. `--table` prints
Markdown tables from one or more of these files: mean NDCG@10, the difference of the chosen model from BM25 with the
p-value of a paired t-test over queries, and the same for queries without a relevant document seen in training. The
chosen model is the one `compare` names; for a program that names none, the one with the best validation figure.
"""

import argparse
import collections
import gzip
import hashlib
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import time

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "bench" / "matching"))
import bestbuy  # noqa: E402

MODELS = "bm25,lsi-dt,clicks,pls,rmls,ssi,sparse-preference,clicks+bm25,pls+bm25,rmls+bm25,sparse-preference+bm25,stack"
SHARES = [5, 10, 25, 50]
MEASURE = "ndcg@10"


def data_folder():
    return pathlib.Path(os.environ.get("MATCHRANK_DATA") or REPOSITORY.parent / "shared" / "data")


def is_drawn(query, share, seed):
    """A query is in the share by a hash of its text, so that larger shares hold smaller ones."""
    digest = hashlib.blake2b(f"{seed} {query}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") % 100 < share


def lines_of(path):
    opened = gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else open(path, encoding="utf-8")
    with opened as file:
        return file.read().splitlines()


def judged(folder, work, responses):
    queries = [folder / "queries.tsv"]
    return ["--documents", folder / "documents.jsonl.gz", "--queries", *queries, "--responses", responses["train"],
            "--judgments", f"validation={responses['validation']}", "--judgments", f"test={responses['test']}"]


def nfcorpus(work, share, seed):
    folder = data_folder() / "nfcorpus"
    train = folder / "train.3-2-1.qrel.gz"
    if share < 100:
        kept = [line for line in lines_of(train) if is_drawn(line.split()[0], share, seed)]
        train = work / "train.qrel"
        train.write_text("\n".join(kept) + "\n", encoding="utf-8")
    queries = [folder / f"{part}.titles.queries" for part in ("train", "dev", "test")]
    return ["--documents", folder / "dev.docs.gz", folder / "test.docs.gz", "--queries", *queries,
            "--responses", train, "--judgments", f"validation={folder / 'dev.3-2-1.qrel.gz'}",
            "--judgments", f"test={folder / 'test.3-2-1.qrel.gz'}"]


def shop(work, share, seed):
    folder = data_folder() / "bestbuy"
    clicks, documents = bestbuy.read_clicks(folder), bestbuy.read_documents(folder)
    clicks = [click for click in clicks if click[2] in documents]
    train_until = clicks[int(0.7 * len(clicks))][0]
    kept = [c for c in clicks if c[0] >= train_until or share == 100 or is_drawn(c[1], share, seed)]
    with open(work / "clicks.csv", "w", encoding="utf-8") as file:
        file.write("time,query,document\n")
        for moment, query, document in kept:
            file.write(f'{moment},"{query.replace(chr(34), chr(34) * 2)}",{document}\n')
    with open(work / "documents.jsonl", "w", encoding="utf-8") as file:
        for sku, text in documents.items():
            file.write(json.dumps({"id": sku, **text}) + "\n")
    n, held_out = len(kept), sum(c[0] >= train_until for c in kept)
    test = held_out * 2 / 3 / n
    return ["--clicks", work / "clicks.csv", "--documents", work / "documents.jsonl", "--text",
            "name,short_description,long_description", "--field-weight", "name=10", "--split", "time",
            "--holdout", f"{held_out / n - test:.6f},{test:.6f}"]


def fold(name, number):
    folder = data_folder() / name
    parts = {part: folder / f"fold{number}" / f"{part}.qrels" for part in ("train", "validation", "test")}
    return lambda work, seed: judged(folder, work, parts)


def scifact(work, seed):
    folder = data_folder() / "scifact"
    return judged(folder, work, {part: folder / f"{part}.qrels" for part in ("train", "validation", "test")})


def collections_of():
    """Name of every run -> arguments of ingest, given a working folder and a seed."""
    runs = {"scifact": scifact}
    for name in ("cacm", "cranfield"):
        runs.update({f"{name}-{number}": fold(name, number) for number in range(5)})
    for share in (*SHARES, 100):
        name = lambda of: of if share == 100 else f"{of}-{share}"
        runs[name("bestbuy")] = lambda work, seed, share=share: shop(work, share, seed)
        runs[name("nfcorpus")] = lambda work, seed, share=share: nfcorpus(work, share, seed)
    return runs


def relevant_of(work):
    """Relevant test documents of every query, from queries.json of the comparison."""
    queries = json.loads((work / "models" / "queries.json").read_text())
    return queries


def seen_documents(arguments):
    """Documents with a training response, where the responses are a file of judgments."""
    if "--responses" not in arguments:
        return None
    path = pathlib.Path(arguments[arguments.index("--responses") + 1])
    rows = (line.split() for line in lines_of(path))
    return {row[2] for row in rows if float(row[3]) > 0}


def run_one(program, name, ingest_arguments, seed, models, extra, work):
    folder = work / f"{name}-seed{seed}"
    folder.mkdir(parents=True, exist_ok=True)
    arguments = ingest_arguments(folder, seed)
    command = [program, "ingest", *map(str, arguments), "--out", "store", "--force", "--quiet"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    started = time.monotonic()
    command = [program, "compare", "--data", "store", "--models", models, "--out", "models", "--seed", str(seed),
               "--quiet", *extra]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode not in (0,):
        print(f"{name}: {done.stderr}", file=sys.stderr)
    comparison = json.loads((folder / "models" / "comparison.json").read_text())
    queries = json.loads((folder / "models" / "queries.json").read_text())
    seen = seen_documents(arguments)
    unseen = []
    for query in queries:
        relevant = [document for document, grade in query["judged"] if grade > 0]
        unseen.append(query["clicks"] == 0 if seen is None else not any(document in seen for document in relevant))
    rows = {}
    for row in comparison["models"]:
        file = "".join(c if c.isalnum() or c in "+-._" else "_" for c in row["name"])
        entry = json.loads((folder / "models" / "results" / f"{file}.json").read_text())
        rows[row["name"]] = {"validation": row["validation"], "per_query": entry["per_query"][MEASURE]}
    chosen = (comparison.get("chosen") or {}).get("name")
    return {"seconds": time.monotonic() - started, "chosen": chosen, "unseen": unseen, "models": rows,
            "left_out": comparison.get("left_out", {})}


def mean(values):
    return sum(values) / max(len(values), 1)


def t_test(differences):
    """Mean difference and two-sided p-value; the normal law stands in for t from 200 queries on."""
    n = len(differences)
    m = mean(differences)
    variance = sum((d - m) ** 2 for d in differences) / max(n - 1, 1)
    if variance == 0:
        return m, 1.0
    t = abs(m) / math.sqrt(variance / n)
    # Two-sided tail of Student's t with n - 1 degrees of freedom, by numerical integration.
    degrees = n - 1
    log_c = math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2) - 0.5 * math.log(degrees * math.pi)
    density = lambda x: math.exp(log_c - (degrees + 1) / 2 * math.log1p(x * x / degrees))
    steps = 2000
    inside = sum(density(t * (i + 0.5) / steps) for i in range(steps)) * t / steps
    return m, max(0.0, 1 - 2 * inside)


def chosen_of(result):
    if result["chosen"]:
        return result["chosen"]
    figure = lambda name: list(result["models"][name]["validation"].values())[0]
    return max(result["models"], key=figure)


def pooled(results, name):
    """Per-query values of BM25, of every model and of the chosen one over all folds and seeds of a collection."""
    values, unseen = collections.defaultdict(list), []
    for result in results:
        rows = result["models"]
        kept = [i for i, v in enumerate(rows["bm25"]["per_query"]) if v is not None]
        for model, row in rows.items():
            values[model] += [row["per_query"][i] for i in kept]
        values["chosen"] += [rows[chosen_of(result)]["per_query"][i] for i in kept]
        unseen += [result["unseen"][i] for i in kept]
    return values, unseen


def print_tables(files):
    for file in files:
        results = json.loads(pathlib.Path(file).read_text())
        groups = collections.defaultdict(list)
        for key, result in results.items():
            name = key.rsplit("@", 1)[0]
            parts = name.rsplit("-", 1)
            groups[parts[0] if parts[0] in ("cacm", "cranfield") else name].append(result)
        print(f"\n{file}\n")
        print("| collection | queries | bm25 | chosen | difference (p) | seen documents | unseen documents | picked | minutes |")
        print("|---|---|---|---|---|---|---|---|---|")
        gains = []
        for name, group in sorted(groups.items()):
            values, unseen = pooled(group, name)
            differences = [c - b for c, b in zip(values["chosen"], values["bm25"])]
            m, p = t_test(differences)
            gains.append(m)
            parts = []
            for flag in (False, True):
                some = [d for d, u in zip(differences, unseen) if u == flag]
                parts.append("%+.3f (%.3f)" % t_test(some) if len(some) > 1 else "")
            picked = collections.Counter(chosen_of(result) for result in group)
            names = ", ".join(f"{model} {n}" for model, n in picked.most_common())
            minutes = sum(result["seconds"] for result in group) / 60
            print(f"| {name} | {len(differences)} | {mean(values['bm25']):.4f} | {mean(values['chosen']):.4f} | "
                  f"{m:+.4f} ({p:.3f}) | {parts[0]} | {parts[1]} | {names} | {minutes:.1f} |")
        print(f"\nmean gain {mean(gains):+.4f}\n")
        models = list(dict.fromkeys(m for g in groups.values() for r in g for m in r["models"]))
        print("| collection | " + " | ".join(models) + " |")
        print("|---|" + "---|" * len(models))
        for name, group in sorted(groups.items()):
            values, _ = pooled(group, name)
            full = len(values["bm25"])
            cells = [f"{mean(values[m]):.3f}" if len(values[m]) == full else "" for m in models]
            print(f"| {name} | " + " | ".join(cells) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program")
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--models", default=MODELS)
    parser.add_argument("--work", type=pathlib.Path)
    parser.add_argument("--table", nargs="*")
    parser.add_argument("extra", nargs="*", help="further arguments of compare, after --")
    arguments = parser.parse_args()
    if arguments.table:
        return print_tables(arguments.table)
    work = (arguments.work or pathlib.Path(tempfile.mkdtemp())).resolve()
    work.mkdir(parents=True, exist_ok=True)
    out = work / "results.json"
    results = json.loads(out.read_text()) if out.exists() else {}
    program = str(pathlib.Path(arguments.program).resolve())
    runs = collections_of()
    for name in arguments.only or runs:
        # Only the shares depend on the seed of the data; models do everywhere.
        for seed in map(int, arguments.seeds.split(",")):
            if f"{name}@{seed}" in results:
                continue
            results[f"{name}@{seed}"] = run_one(program, name, runs[name], seed, arguments.models, arguments.extra, work)
            out.write_text(json.dumps(results))
            print(f"{name} seed {seed}: {results[f'{name}@{seed}']['seconds']:.0f} s", file=sys.stderr, flush=True)
    print_tables([out])


if __name__ == "__main__":
    main()
