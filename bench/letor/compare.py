"""Reading a LETOR file: matchrank beside scikit-learn's load_svmlight_file, same file, same machine.

Usage: python bench/letor/compare.py FILE [COPIES]

FILE is plain or .gz; it is written COPIES times (default 20) into one temporary plain file, each copy
with query ids of its own, so that the time is long enough to measure. Both sides read that plain file.
CPU seconds are user + system, which a busy machine disturbs less than the wall clock.
"""

import gzip
import os
import resource
import subprocess
import sys
import tempfile
import time


# Reads twice in one process: in the first reading, growing the heap costs scikit-learn twice the time of reading.
SCIKIT_LEARN = """
import sys, time, sklearn
from sklearn.datasets import load_svmlight_file
for name in ("first", "second"):
    wall, used = time.perf_counter(), time.process_time()
    features, _, queries = load_svmlight_file(sys.argv[1], query_id=True)
    wall, used = time.perf_counter() - wall, time.process_time() - used
    note = f"{len(set(queries))} queries, {features.shape[0]} rows, {features.shape[1]} features"
    print(f"scikit-learn {sklearn.__version__}, {name}", wall, used, note, sep="\\t")
"""


def enlarge(source, copies, target):
    opened = gzip.open(source, "rt") if source.endswith(".gz") else open(source)
    with opened as lines:
        rows = [line.split(" ", 2) for line in lines]
    for copy in range(copies):
        for label, qid, rest in rows:
            target.write(f"{label} qid:{copy + 1}{qid[4:]:0>8} {rest.rstrip()}\n")
    target.flush()


def cpu(who):
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def report(name, megabytes, wall, cpu_seconds, times, note):
    print(
        f"{name:<28} {wall / times:7.3f} s wall  {cpu_seconds / times:7.3f} s CPU  "
        f"{megabytes * times / wall:6.0f} MB/s wall  {megabytes * times / cpu_seconds:6.0f} MB/s CPU  {note}"
    )


def main():
    source, copies = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as big:
        enlarge(source, copies, big)
        megabytes = os.path.getsize(big.name) / 1e6
        print(f"{megabytes:.0f} MB, {os.cpu_count()} cores")

        build = ["cargo", "build", "-q", "--release", "-p", "matchrank-core", "--example", "letor_speed"]
        subprocess.run(build, check=True)
        target = os.environ.get("CARGO_TARGET_DIR", "target")
        program = os.path.join(target, "release", "examples", "letor_speed")
        times = 5
        for threads in sorted({1, os.cpu_count()}):
            environment = dict(os.environ, RAYON_NUM_THREADS=str(threads))
            before, start = cpu(resource.RUSAGE_CHILDREN), time.perf_counter()
            out = subprocess.run(
                [program, big.name, str(times)], check=True, env=environment, capture_output=True, text=True
            ).stdout
            wall = time.perf_counter() - start
            used = cpu(resource.RUSAGE_CHILDREN) - before
            report(f"matchrank, {threads} thread(s)", megabytes, wall, used, times, out.split(":")[0])

        read = [sys.executable, "-c", SCIKIT_LEARN, big.name]
        for line in subprocess.run(read, check=True, capture_output=True, text=True).stdout.splitlines():
            name, wall, used, note = line.split("\t")
            report(name, megabytes, float(wall), float(used), 1, note)


if __name__ == "__main__":
    main()
