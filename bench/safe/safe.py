"""Does learning ever hurt? BM25, every single model and the model that validation chooses, on six collections.

    python bench/safe/safe.py --program target/release/matchrank [--only NAME...] [--seeds 1,2,3] [--work FOLDER] [--jobs N]
    python bench/safe/safe.py --table BEFORE AFTER

The collections are in MATCHRANK_DATA, else in ../shared/data beside the repository: nfcorpus, bestbuy (split by time),
cranfield and cacm (five folds each), scifact, and shares of 5, 10, 25 and 50 % of the training queries of nfcorpus and
bestbuy, drawn by the seed. Each is ingested and compared by `matchrank compare`, with the same models and trials:
BM25 is tuned over its whole grid, all other models have their defaults.

Adds a line to FOLDER/results.jsonl for every collection and seed: the mean figures of every model, and the figures of
BM25 and of the chosen model query by query, in units of 1e-4. A result that is there is not computed again; `--again`
reads all comparisons again, which train nothing that they have. `--jobs 2` runs two comparisons at a time with one
thread each, which gives the same figures.

`--table` prints Markdown tables from one or more such files: mean NDCG@10, the difference of the chosen model from BM25
with the p-value of a paired t-test over queries, and the same for queries with and without a relevant document seen in
training (on Best Buy: queries with and without training clicks). The value of a query is its mean over the seeds, so
that a query counts once. Minutes are those of tuning and training. The chosen model is the one `compare` names; for a
program that names none, the one with the best validation figure.
"""

import argparse
import collections
import concurrent.futures
import gzip
import hashlib
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import threading

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "bench" / "matching"))
import bestbuy  # noqa: E402

# Trials of tuning: BM25 is tuned well, because everything is measured against it; other models have their defaults, and
# choose on validation what they choose in training.
SINGLE = {"bm25": 56, "rm3": 1, "lsi-dt": 1, "clicks": 9, "pls": 1, "rmls": 1, "ssi": 1, "sparse-preference": 1}
SUMS = ["clicks+bm25", "pls+bm25", "rmls+bm25", "ssi+bm25", "sparse-preference+bm25"]
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


def seen_documents(arguments):
    """Documents with a training response, where the responses are a file of judgments."""
    if "--responses" not in arguments:
        return None
    path = pathlib.Path(arguments[arguments.index("--responses") + 1])
    rows = (line.split() for line in lines_of(path))
    return {row[2] for row in rows if float(row[3]) > 0}


def plan(without):
    """The plan of every comparison, as TOML, without models that an earlier program does not have."""
    single = [name for name in SINGLE if name not in without]
    lines = []
    for name in single:
        lines += ["[[model]]", f'name = "{name}"', f'kind = "{name}"', f"trials = {SINGLE[name]}"]
    for name in SUMS:
        lines += ["[[model]]", f'name = "{name}"', 'kind = "combination"', f"of = {json.dumps(name.split('+'))}"]
    lines += ["[[model]]", 'name = "stack"', 'kind = "stack"', f"of = {json.dumps(single)}"]
    return "\n".join(lines) + "\n"


def run_one(program, name_of_run, ingest_arguments, seed, without, extra, work, n_threads):
    folder = work / f"{name_of_run}-seed{seed}"
    folder.mkdir(parents=True, exist_ok=True)
    arguments = ingest_arguments(folder, seed)
    threads = ["--threads", str(n_threads)]
    # Published figures have binary grades, which earlier programs know alone.
    usage = subprocess.run([program, "ingest", "--help"], check=True, capture_output=True, text=True).stdout
    if "--split" in arguments and "--grades" in usage:
        arguments += ["--grades", "binary"]
    command = [program, "ingest", *map(str, arguments), "--out", "store", "--force", "--quiet", *threads]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    (folder / "plan.toml").write_text(plan(without))
    command = [program, "compare", "--data", "store", "--plan", "plan.toml", "--out", "models", "--seed", str(seed),
               "--quiet", *threads, *extra]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode not in (0,):
        print(f"{name_of_run}: {done.stderr}", file=sys.stderr)
    comparison = json.loads((folder / "models" / "comparison.json").read_text())
    queries = json.loads((folder / "models" / "queries.json").read_text())
    seen = seen_documents(arguments)
    unseen = []
    for query in queries:
        relevant = [document for document, grade in query["judged"] if grade > 0]
        unseen.append(query["clicks"] == 0 if seen is None else not any(document in seen for document in relevant))
    values, validation, seconds = {}, {}, 0.0
    for row in comparison["models"]:
        file = "".join(c if c.isalnum() or c in "+-._" else "_" for c in row["name"])
        entry = json.loads((folder / "models" / "results" / f"{file}.json").read_text())
        values[row["name"]] = entry["per_query"][MEASURE]
        seconds += row["seconds"] + row["tuning_seconds"]
        validation[row["name"]] = list(row["validation"].values())[0]
    chosen = (comparison.get("chosen") or {}).get("name") or max(validation, key=validation.get)
    kept = [i for i, value in enumerate(values["bm25"]) if value is not None]
    unseen = [unseen[i] for i in kept]
    means = {}
    for name, row in values.items():
        row = [row[i] for i in kept]
        groups = row, [value for value, is_unseen in zip(row, unseen) if is_unseen]
        means[name] = [round(mean(group), 4) if group else None for group in groups]
    in_short = lambda row: [round(1e4 * row[i]) for i in kept]
    return {"name": name_of_run, "seed": seed, "seconds": round(seconds), "chosen": chosen,
            "refused": sorted(comparison.get("left_out", {})), "validation": round(validation[chosen], 4), "means": means,
            "unseen": "".join("01"[is_unseen] for is_unseen in unseen), "bm25": in_short(values["bm25"]),
            "chosen_values": in_short(values[chosen])}


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


def read_results(path):
    """Results of a file by collection, then by part: the folds of a collection are its parts."""
    groups = collections.defaultdict(lambda: collections.defaultdict(list))
    for line in lines_of(pathlib.Path(path)):
        result = json.loads(line)
        part = result["name"]
        name = part.rsplit("-", 1)[0] if part.startswith(("cacm", "cranfield")) else part
        groups[name][part].append(result)
    return groups


def pooled(parts):
    """Differences of the chosen model from BM25 for every query, means over the seeds, and which queries are unseen."""
    differences, unseen = [], []
    for part in sorted(parts):
        seeds = parts[part]
        unseen += [flag == "1" for flag in seeds[0]["unseen"]]
        for i in range(len(seeds[0]["bm25"])):
            differences.append(mean([(s["chosen_values"][i] - s["bm25"][i]) / 1e4 for s in seeds]))
    return differences, unseen


def mean_of(parts, model, which):
    """Mean of a model over all queries (0) or the unseen ones (1); none where a part lacks the model."""
    total, n = 0.0, 0
    for seeds in parts.values():
        for result in seeds:
            if model not in result["means"]:
                return None
            size = len(result["bm25"]) if which == 0 else result["unseen"].count("1")
            if size > 0:
                total, n = total + size * result["means"][model][which], n + size
    return total / n if n else None


def print_tables(files):
    for file in files:
        groups = read_results(file)
        print(f"\n{file}\n")
        print("| collection | queries | seeds | bm25 | chosen | difference (p) | seen | unseen | chosen models | minutes |")
        print("|---|---|---|---|---|---|---|---|---|---|")
        gains = []
        for name, parts in sorted(groups.items()):
            differences, unseen = pooled(parts)
            m, p = t_test(differences)
            gains.append(m)
            cells = []
            for flag in (False, True):
                some = [d for d, u in zip(differences, unseen) if u == flag]
                cells.append("%+.3f (%.3f)" % t_test(some) if len(some) > 1 else "")
            results = [result for seeds in parts.values() for result in seeds]
            picked = collections.Counter(result["chosen"] for result in results)
            names = ", ".join(f"{model} {n}" for model, n in picked.most_common())
            bm25, minutes = mean_of(parts, "bm25", 0), sum(result["seconds"] for result in results) / 60
            seeds = min(map(len, parts.values()))
            print(f"| {name} | {len(differences)} | {seeds} | {bm25:.3f} | {bm25 + m:.3f} | {m:+.3f} ({p:.3f}) | {cells[0]} | "
                  f"{cells[1]} | {names} | {minutes:.0f} |")
        print(f"\nmean gain over {len(gains)} collections {mean(gains):+.4f}\n")
        models = list(dict.fromkeys(m for g in groups.values() for seeds in g.values() for r in seeds for m in r["means"]))
        print("| collection | " + " | ".join(models) + " |")
        print("|---|" + "---|" * len(models))
        for name, parts in sorted(groups.items()):
            for which, label in enumerate(["", ", unseen"]):
                figures = [mean_of(parts, model, which) for model in models]
                if any(figure is not None for figure in figures):
                    cells = ["" if figure is None else f"{figure:.3f}" for figure in figures]
                    print(f"| {name}{label} | " + " | ".join(cells) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program")
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--without", nargs="*", default=[], help="models that an earlier program does not have")
    parser.add_argument("--work", type=pathlib.Path)
    parser.add_argument("--table", nargs="*")
    parser.add_argument("--again", action="store_true", help="read all comparisons again, such as after a new rule of choice")
    parser.add_argument("--jobs", type=int, default=1, help="comparisons at a time")
    parser.add_argument("--threads", type=int, help="threads of each [default: the cores shared among the jobs]")
    parser.add_argument("extra", nargs="*", help="further arguments of compare, after --")
    arguments = parser.parse_args()
    if arguments.table:
        return print_tables(arguments.table)
    work = (arguments.work or pathlib.Path(tempfile.mkdtemp())).resolve()
    work.mkdir(parents=True, exist_ok=True)
    program = str(pathlib.Path(arguments.program).resolve())
    runs = collections_of()
    threads = arguments.threads or max(1, os.cpu_count() // arguments.jobs)
    out, lock = work / "results.jsonl", threading.Lock()
    known = [json.loads(line) for line in lines_of(out)] if out.exists() and not arguments.again else []
    made = {(result["name"], result["seed"]) for result in known}
    if arguments.again:
        out.write_text("")

    def run(name, seed):
        if (name, seed) in made:
            return
        result = run_one(program, name, runs[name], seed, arguments.without, arguments.extra, work, threads)
        with lock, open(out, "a", encoding="utf-8") as file:
            file.write(json.dumps(result, separators=(",", ":")) + "\n")
        print(f"{name} seed {seed}: {result['seconds']} s, chosen {result['chosen']}", file=sys.stderr, flush=True)

    tasks = [(name, seed) for seed in map(int, arguments.seeds.split(",")) for name in arguments.only or runs]
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for done in [pool.submit(run, *task) for task in tasks]:
            done.result()
    print_tables([out])


if __name__ == "__main__":
    main()
