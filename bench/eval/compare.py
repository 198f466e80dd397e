"""Evaluates one large run with matchrank, pytrec_eval and ranx, each in a process of its own, and prints
wall time, CPU time, peak memory and figures side by side.

    pip install pytrec_eval-terrier ranx
    cargo build --release
    python bench/eval/compare.py [--queries 10000] [--documents 1000] [--matchrank target/release/matchrank]

The data is made by seed: per query `--documents` ranked documents with strictly descending scores and 40
judged ones with grades 0 to 3, 30 of them in the list. No scores tie, because ranx has no rule for ties in
long lists. Start to end means: read both files, evaluate, print; for the peers this is a Python process
that reads with plain Python (pytrec_eval has no reader of its own faster than that) or with the tool's reader.
"""

import argparse
import json
import os
import platform
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MEASURES = ["ndcg@10", "map", "mrr", "p@10", "r@100"]

PYTREC = """
import json, sys
import pytrec_eval
with open(sys.argv[1]) as f: qrels = pytrec_eval.parse_qrel(f)
with open(sys.argv[2]) as f: run = pytrec_eval.parse_run(f)
names = {"ndcg@10": "ndcg_cut_10", "map": "map", "mrr": "recip_rank", "p@10": "P_10", "r@100": "recall_100"}
found = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.10", "map", "recip_rank", "P.10", "recall.100"}).evaluate(run)
print(json.dumps({ours: sum(v[n] for v in found.values()) / len(found) for ours, n in names.items()}))
"""

RANX = """
import json, sys
import ranx
qrels = ranx.Qrels.from_file(sys.argv[1], kind="trec")
run = ranx.Run.from_file(sys.argv[2], kind="trec")
names = {"ndcg@10": "ndcg@10", "map": "map", "mrr": "mrr", "p@10": "precision@10", "r@100": "recall@100"}
found = ranx.evaluate(qrels, run, list(names.values()))
print(json.dumps({ours: float(found[n]) for ours, n in names.items()}))
"""


def make(folder, queries, documents, seed):
    rng = random.Random(seed)
    qrels, run = folder / "judgments.qrels", folder / "large.run"
    if run.exists():
        return qrels, run
    with open(qrels, "w") as q, open(run, "w") as r:
        for i in range(queries):
            ids = rng.sample(range(10_000_000), documents + 10)
            ranked, absent = ids[:documents], ids[documents:]
            judged = rng.sample(ranked, min(30, documents)) + absent
            q.writelines(f"{i} 0 D{d:07} {rng.choice((0, 0, 1, 2, 3))}\n" for d in judged)
            score = 30.0
            lines = []
            for rank, d in enumerate(ranked, 1):
                score -= rng.uniform(1e-4, 0.05)
                lines.append(f"{i} Q0 D{d:07} {rank} {score:.6f} bench\n")
            r.writelines(lines)
    return qrels, run


def measure(command):
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    assert status == 0, command
    return json.loads(output), wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--documents", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=3, help="the best of so many is printed")
    parser.add_argument("--threads", type=int, default=0, help="of matchrank; 0 means all cores")
    parser.add_argument("--matchrank", default="target/release/matchrank")
    parser.add_argument("--folder", type=Path, help="where the data is kept; a temporary folder by default")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.folder or Path(temporary)
        folder.mkdir(exist_ok=True)
        qrels, run = map(str, make(folder, args.queries, args.documents, args.seed))
        ours = [args.matchrank, "eval", "--qrels", qrels, "--run", run, "--format", "json", "--quiet",
                "--threads", str(args.threads), "--measures", ",".join(MEASURES), "--dialect"]
        tools = {
            "matchrank (trec)": ours + ["trec"],
            "pytrec_eval": [sys.executable, "-c", PYTREC, qrels, run],
            "matchrank (ranx)": ours + ["ranx"],
            "ranx": [sys.executable, "-c", RANX, qrels, run],
            "matchrank (own)": ours + ["matchrank"],
        }
        print(f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, Python {platform.python_version()}")
        print(f"{args.queries} queries x {args.documents} documents, run of {os.path.getsize(run) / 1e6:.0f} MB, best of {args.repeat}")
        print(f"{'':18} {'wall s':>8} {'cpu s':>8} {'peak MB':>8}  " + "  ".join(f"{m:>8}" for m in MEASURES))
        found = {}
        for name, command in tools.items():
            runs = [measure(command) for _ in range(args.repeat)]
            figures, wall, cpu, memory = min(runs, key=lambda r: r[1])
            figures = figures["runs"][0]["measures"] if "runs" in figures else figures
            found[name] = figures
            print(f"{name:18} {wall:8.3f} {cpu:8.3f} {memory:8.0f}  " + "  ".join(f"{figures[m]:8.6f}" for m in MEASURES), flush=True)
        for a, b in [("matchrank (trec)", "pytrec_eval"), ("matchrank (ranx)", "ranx")]:
            worst = max(abs(found[a][m] - found[b][m]) for m in MEASURES)
            print(f"largest difference between {a} and {b}: {worst:.1e}")
            assert worst < 1e-6


if __name__ == "__main__":
    main()
