"""Time and peak memory of RMLS and PLS against dimension and threads, as a table of runs for figure.py.

    cargo build --release --examples
    python bench/matching/scaling.py TIMES.csv one-week=OPERATOR half-year=OPERATOR:50,100,200 [--threads 1,2]

Each operator (README.md beside this file says what it is) has a name and, after a colon, dimensions if not those
of --d. Every run is a process of its own. "RMLS" is the mean of the first three iterations with the default
thresholds, "RMLS dense" the mean of the second and third without any (the first makes the memory), "PLS" the
whole decomposition with the default tolerance. Rows are added to TIMES.csv, and runs that it has are left out, so
that an interrupted table can be finished. --most-mib skips what would not fit: dense rows take 4 d bytes for
each feature.
"""

import argparse
import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path

COLUMNS = ["preset", "model", "d", "threads", "seconds", "peak_mib"]
MODELS = {"RMLS": ["rmls", "{d}", "3"], "RMLS dense": ["rmls", "{d}", "3", "0", "0"], "PLS": ["pls", "{d}"]}


def run(program, folder, model, d, threads):
    command = [program, str(folder), *(part.format(d=d) for part in MODELS[model])]
    environment = os.environ | {"RAYON_NUM_THREADS": str(threads)}
    found = subprocess.run(command, env=environment, capture_output=True, text=True)
    if found.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{found.stderr}")
    if model == "PLS":
        seconds = float(re.search(r"PLS: ([\d.]+) s", found.stdout)[1])
    else:
        times = [float(time) for time in re.findall(r"iteration +\d+: ([\d.]+) s", found.stdout)]
        times = times[1:] if model == "RMLS dense" else times
        seconds = sum(times) / len(times)
    peak = re.search(r"VmHWM:\s+(\d+) kB", found.stdout)
    return round(seconds, 4), round(int(peak[1]) / 1024) if peak else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("times", type=Path, help="CSV to add to")
    parser.add_argument("operators", nargs="+", metavar="NAME=FOLDER[:D,...]")
    parser.add_argument("--d", default="100,200,500,1000")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--most-mib", type=float, default=12000)
    parser.add_argument("--program", default="target/release/examples/matching_speed")
    args = parser.parse_args()

    done = set()
    if args.times.exists():
        with open(args.times, newline="") as file:
            done = {(row["preset"], row["model"], row["d"], row["threads"]) for row in csv.DictReader(file)}
    with open(args.times, "a", newline="") as file:
        table = csv.writer(file)
        if not done:
            table.writerow(COLUMNS)
        for operator in args.operators:
            name, _, rest = operator.partition("=")
            folder, _, dimensions = rest.partition(":")
            shapes = json.loads((Path(folder) / "shape.json").read_text())
            features = shapes["x"][1] + shapes["y"][1]
            for d in (dimensions or args.d).split(","):
                for threads in args.threads.split(","):
                    for model in args.models.split(","):
                        dense_mib = 4 * int(d) * features / 2**20 * (1 if model == "RMLS dense" else 2)
                        if (name, model, d, threads) in done:
                            continue
                        if model != "RMLS" and dense_mib > args.most_mib:
                            print(f"{name}, {model}, d = {d}: left out, it needs about {dense_mib:.0f} MiB")
                            continue
                        seconds, peak = run(args.program, folder, model, int(d), int(threads))
                        table.writerow([name, model, d, threads, seconds, peak])
                        file.flush()
                        print(f"{name}, {model}, d = {d}, {threads} threads: {seconds} s, {peak} MiB", flush=True)


if __name__ == "__main__":
    main()
