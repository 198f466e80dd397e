"""Peak memory of training on large feature lists: matchrank beside LightGBM's Python package, and doctor's estimate.

Usage: python bench/letor/memory.py MATCHRANK [FOLDER] [dense|sparse ...]

MATCHRANK is the program. Files are made in FOLDER (default: a temporary folder) unless they are there:
dense.txt has 1,200,000 rows of 136 features (6,000 rows drawn at random, over and over), sparse.txt 200,000 rows of 50
out of 1,000,000 features (20,000 rows, over and over), both in lists of 100 documents. LightGBM reads the same rows without their query ids, which stand in a .query file beside them, as its
documentation has it. Peak resident memory is that of /usr/bin/time. Needs numpy and lightgbm; MATCHRANK_LIGHTGBM names
the library that matchrank uses.
"""

import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

SHAPES = {"dense": (1_200_000, 136, 136), "sparse": (200_000, 1_000_000, 50)}
DRAWN = {"dense": 6_000, "sparse": 20_000}
LIST = 100
LINEAR = ["listnet", "--set", "lambda=0.01", "--set", "max_iterations=5"]
TREES = ["lambdamart", "--set", "trees=10"]
LIGHTGBM = """
import sys, lightgbm as lgb
params = dict(objective="lambdarank", num_leaves=7, learning_rate=0.05, min_data_in_leaf=50, verbosity=-1, num_threads=2)
lgb.train(params, lgb.Dataset(sys.argv[1], params=params), num_boost_round=10)
"""


def make(folder, name):
    rows, features, filled = SHAPES[name]
    ours, theirs = os.path.join(folder, f"{name}.txt"), os.path.join(folder, f"{name}.lightgbm.txt")
    if os.path.exists(theirs + ".query"):
        return ours, theirs
    rng = np.random.default_rng(7)
    drawn = []
    for _ in range(DRAWN[name]):
        values = np.round(rng.random(filled), 4)
        grade = min(int(values[0] * 2 + values[1] * 2), 3)
        ids = range(1, filled + 1) if filled == features else np.unique(rng.integers(1, features + 1, filled))
        drawn.append((grade, " ".join(f"{id}:{value:.6g}" for id, value in zip(ids, values.tolist()))))
    with open(ours, "w") as a, open(theirs, "w") as b:
        for row in range(rows):
            grade, cells = drawn[row % len(drawn)]
            a.write(f"{grade} qid:{row // LIST} {cells}\n")
            b.write(f"{grade} {cells}\n")
    with open(theirs + ".query", "w") as groups:
        groups.write(f"{LIST}\n" * (rows // LIST))
    return ours, theirs


def peak(command):
    """Peak resident memory in MB and CPU seconds."""
    done = subprocess.run(["/usr/bin/time", "-v", *command], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    field = lambda name: float(re.search(rf"{name}[^:]*: ([\d.]+)", done.stderr).group(1))
    return field("Maximum resident set size") * 1024 / 1e6, field("User time") + field("System time")


def main():
    program = sys.argv[1]
    folder = sys.argv[2] if len(sys.argv) > 2 else tempfile.mkdtemp()
    model = os.path.join(folder, "memory.model")
    for name in sys.argv[3:] or SHAPES:
        ours, theirs = make(folder, name)
        print(f"{name}: {os.path.getsize(ours) / 1e6:.0f} MB of text", flush=True)
        for ranker in (TREES, LINEAR):
            mb, cpu = peak([program, "train", *ranker, "--letor", ours, "--out", model, "--quiet"])
            print(f"  matchrank {ranker[0]:<12} {mb:7.0f} MB  {cpu:6.1f} s of CPU", flush=True)
        try:
            mb, cpu = peak([sys.executable, "-c", LIGHTGBM, theirs])
            print(f"  LightGBM lambdarank    {mb:7.0f} MB  {cpu:6.1f} s of CPU", flush=True)
        except SystemExit as error:
            print(f"  LightGBM lambdarank failed: {str(error).strip().splitlines()[-25:][0]}", flush=True)
        found = subprocess.run([program, "doctor", ours, "--format", "json"], capture_output=True, text=True)
        memory = [f for file in json.loads(found.stdout)["files"] for f in file["findings"] if f["code"] == "memory"]
        print(f"  doctor: {memory[0]['message']}", flush=True)


if __name__ == "__main__":
    main()
