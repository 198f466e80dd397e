"""Writes metrics.json: ranking measures of small lists, from their definitions, in NumPy.

    pip install numpy && python make_metrics.py

Scores and labels were drawn once and are read from metrics.json; its `conventions` say what every measure means.
Nothing is shared with the Rust code.
"""

import json
import pathlib

import numpy as np

HERE = pathlib.Path(__file__).parent
given = json.loads((HERE / "metrics.json").read_text())


def order(score, label, ties=0):
    """Documents by score, descending; ties stay in input order (0), or go by label, best (1) or worst (-1) first."""
    return sorted(range(len(score)), key=lambda i: (-score[i], -ties * label[i]))


def dcg(labels, k, ymax):
    return sum((2.0 ** (y - ymax) - 2.0**-ymax) / np.log2(2 + i) for i, y in enumerate(labels[:k]))


def ndcg(labels, k=None):
    """Gains 2^y - 1, all divided by 2^ymax, which cancels."""
    ymax = max(labels)
    best = dcg(sorted(labels, reverse=True), k, ymax)
    return float(dcg(labels, k, ymax) / best) if best > 0 else 1.0


def average_precision(labels):
    relevant = np.array(labels) > 0
    if not relevant.any():
        return 1.0
    return float((relevant.cumsum() / np.arange(1, len(labels) + 1))[relevant].mean())


def err(labels, ymax):
    value, goes_on = 0.0, 1.0
    for i, y in enumerate(labels, 1):
        stops = 2.0 ** (y - ymax) - 2.0**-ymax
        value += goes_on * stops / i
        goes_on *= 1 - stops
    return value


def measures(case):
    score, label = case["score"], case["label"]
    n = len(score)
    stable, worst, best = ([label[i] for i in order(score, label, ties)] for ties in (0, -1, 1))
    pairs = n * (n - 1) // 2
    bad = sum(stable[i] < stable[j] for i in range(n) for j in range(i + 1, n))
    bad_worst = sum(label[i] > label[j] and score[i] <= score[j] for i in range(n) for j in range(n))
    values = {"order_stable": order(score, label), "mre": bad / pairs if pairs else 0.0, "mre_bad": bad,
              "mre_pairs": pairs, "mre_worst_ties": bad_worst / pairs if pairs else 0.0, "err": err(stable, max(label))}
    if max(label) <= 4:
        values["err_ymax4"] = err(stable, 4.0)
    values |= {f"ndcg@{k}": ndcg(stable, k) for k in (1, 3, 5, 10)}
    values |= {"ndcg": ndcg(stable), "ndcg_worst_ties": ndcg(worst), "ndcg_best_ties": ndcg(best)}
    values |= {"ap": average_precision(stable), "ap_worst_ties": average_precision(worst)}
    return {"score": score, "label": label} | values


out = given | {"cases": [measures(case) for case in given["cases"]]}
(HERE / "metrics.json").write_text(json.dumps(out, indent=1))
