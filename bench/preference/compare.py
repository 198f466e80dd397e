"""Sparse preference learning beside Vowpal Wabbit, on the same tuples, one after the other.

    pip install vowpalwabbit numpy
    cargo build --release -p matchrank-engine --example preference_speed
    python bench/preference/compare.py 20news-bydate.tar.gz [tuples, default 100000] [rate:l1 ..., default 10:1e-6]

The example writes the tuples as Vowpal Wabbit's examples (q: the words of the query, d: those of d+ - d-, label
1), learns from them itself on one thread and on two, and prints what it took and what W is worth. Vowpal Wabbit
reads the same file; then it scores the same test tuples and the same lists. Its time is that of learning with
parsing, which happens on another thread, taken as elapsed time.
"""

import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np

OPTIONS = "--sgd -q qd --ignore_linear q --ignore_linear d --noconstant --loss_function hinge -b 27 --quiet"


def ours(data, tuples, folder, threads):
    program = os.environ.get("PREFERENCE_SPEED", "target/release/examples/preference_speed")
    found = subprocess.run(
        [program, data, str(tuples)] + ([folder] if folder else []),
        env={**os.environ, "RAYON_NUM_THREADS": str(threads)},
        check=True,
        capture_output=True,
        text=True,
    )
    return json.loads(found.stdout)


def peer(folder, rate, l1):
    """Seconds of learning, MAP over the lists and error over the test tuples of Vowpal Wabbit."""
    import vowpalwabbit

    started = time.time()
    model = vowpalwabbit.Workspace(
        f"{OPTIONS} --l1 {l1} -l {rate} --power_t 0.5 -d {folder}/train.vw -f {folder}/model --no_stdin"
    )
    model.finish()
    seconds = time.time() - started
    scores = {}
    for name in ("test", "lists"):
        reader = vowpalwabbit.Workspace(
            f"-t --quiet --no_stdin -i {folder}/model -d {folder}/{name}.vw -r {folder}/{name}.scores"
        )
        reader.finish()
        scores[name] = np.loadtxt(f"{folder}/{name}.scores", ndmin=1)
    queries, relevant = np.loadtxt(f"{folder}/lists.txt", dtype=int, unpack=True)
    precisions = []
    for query in np.unique(queries):
        of = queries == query
        order = np.lexsort((np.random.default_rng(0).random(of.sum()), -scores["lists"][of]))
        hits = relevant[of][order]
        precisions.append((hits.cumsum() / np.arange(1, len(hits) + 1))[hits == 1].mean())
    return seconds, float(np.mean(precisions)), float(np.mean(scores["test"] <= 0))


def main():
    data, tuples = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for threads in (1, 2):
            for phase in ours(data, tuples, folder if threads == 1 else None, threads):
                name = f"matchrank, {phase['phase']}, {threads} thread{'s' * (threads > 1)}"
                found = [phase[key] for key in ("tuples", "seconds", "density", "list_map", "error")]
                rows.append((name, *found))
        for setting in sys.argv[3:] or ["10:1e-6"]:
            rate, l1 = setting.split(":")
            seconds, precision, error = peer(folder, rate, l1)
            rows.append((f"Vowpal Wabbit, -l {rate} --l1 {l1}", tuples, seconds, None, precision, error))
    print("| learner | tuples | seconds | tuples a second | density | MAP of 51 lists | error |")
    print("|---|---|---|---|---|---|---|")
    for name, n, seconds, density, precision, error in rows:
        share = "" if density is None else f"{density:.3f}"
        print(f"| {name} | {n} | {seconds:.1f} | {n / seconds:.0f} | {share} | {precision:.3f} | {error:.3f} |")


main()
