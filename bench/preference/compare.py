"""Sparse preference learning beside Vowpal Wabbit, on the same tuples, one after the other.

    pip install vowpalwabbit
    cargo build --release -p matchrank-engine --example preference_speed
    python bench/preference/compare.py 20news-bydate.tar.gz [tuples, default 20000]

The example writes the tuples as Vowpal Wabbit's examples (q: the words of the query, d: those of d+ - d-, label
1), learns from them itself on one thread, and prints what it took. Times are processor time, so that other
work on the machine counts little; both read random places of memory, so that it counts all the same.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time


def ours(data, tuples, examples, threads):
    program = os.environ.get("PREFERENCE_SPEED", "target/release/examples/preference_speed")
    found = subprocess.run(
        [program, data, str(tuples), examples],
        env={**os.environ, "RAYON_NUM_THREADS": str(threads)},
        check=True,
        capture_output=True,
        text=True,
    )
    return json.loads(found.stdout)


def peer(examples):
    """Time of Vowpal Wabbit in a process of its own."""
    import vowpalwabbit

    before, started = resource.getrusage(resource.RUSAGE_SELF), time.time()
    model = vowpalwabbit.Workspace(
        "--sgd -q qd --ignore_linear q --ignore_linear d --noconstant --loss_function hinge --l1 1e-6 "
        f"-l 10 --power_t 0.5 -b 27 --no_stdin --quiet -d {examples}"
    )
    model.finish()
    after = resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"cpu_seconds": cpu, "seconds": time.time() - started}


def main():
    data, tuples = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20_000
    with tempfile.TemporaryDirectory() as folder:
        examples = os.path.join(folder, "tuples.vw")
        one, two = ours(data, tuples, examples, 1), ours(data, tuples, examples, 2)
        vw = peer(examples)
    print("| learner | CPU seconds | seconds | tuples a CPU second |")
    print("|---|---|---|---|")
    for name, took in [("matchrank, 1 thread", one), ("matchrank, 2 threads", two), ("Vowpal Wabbit", vw)]:
        cpu = took["cpu_seconds"]
        print(f"| {name} | {cpu:.1f} | {took['seconds']:.1f} | {tuples / cpu:.0f} |")


main()
