"""Writes rm3.json: pseudo-relevance feedback on a small collection, in NumPy.

    pip install numpy && python make_rm3.py

Every formula as in Lavrenko and Croft (2001) and Abdul-Jaleel et al. (2004), over dense vectors of all words and with
BM25's scores as the weights of documents; nothing is shared with the Rust code. Of equally likely words the first is kept.
"""

import json
import pathlib

import numpy as np

HERE = pathlib.Path(__file__).parent
DOCS = [[0, 0, 1, 2], [1, 3, 3], [2, 2, 2, 4, 4], [5], [0, 5, 5, 1, 1, 1, 7], [], [3, 6, 6, 7, 0, 2, 2], [4, 1, 7, 7, 7]]
QUERIES = [[0, 2], [5], [1, 1, 3], [6, 4, 4], []]
CASES = [
    {"k1": 1.2, "b": 0.75, "feedback": 10, "terms": 10, "original": 0.5, "max_df": 1.0},
    {"k1": 0.9, "b": 0.4, "feedback": 2, "terms": 3, "original": 0.7, "max_df": 1.0},
    {"k1": 1.2, "b": 0.75, "feedback": 3, "terms": 2, "original": 0.0, "max_df": 0.4},
    {"k1": 1.2, "b": 0.75, "feedback": 3, "terms": 4, "original": 0.5, "max_df": 0.0},
    {"k1": 2.0, "b": 0.0, "feedback": 1, "terms": 5, "original": 1.0, "max_df": 0.5},
]
WORDS, N = 8, len(DOCS)
tf = np.array([[doc.count(w) for w in range(WORDS)] for doc in DOCS], dtype=float)
lengths = tf.sum(axis=1)
df = (tf > 0).sum(axis=0)
idf = np.log(1 + (N - df + 0.5) / (df + 0.5))


def bm25(weights, k1, b):
    K = k1 * (1 - b + b * lengths / lengths.mean())
    return (tf * (k1 + 1) / (tf + K[:, None] + (tf == 0))) @ (idf * weights)


def expand(query, case):
    q = np.array([query.count(w) for w in range(WORDS)], dtype=float)
    scores = bm25(q, case["k1"], case["b"])
    best = [d for d in np.lexsort((np.arange(N), -scores)) if scores[d] > 0][: case["feedback"]]
    if not best:
        return q
    language_models = tf[best] / lengths[best][:, None]
    relevance = scores[best] / scores[best].sum() @ language_models
    relevance[df > case["max_df"] * N] = 0
    order = np.argsort(-relevance.round(12), kind="stable")
    relevance[order[case["terms"] :]] = 0
    if relevance.sum() == 0:
        return q
    return case["original"] * q + (1 - case["original"]) * q.sum() * relevance / relevance.sum()


def solved(case):
    queries = [expand(query, case) for query in QUERIES]
    return {
        "params": case,
        "expanded": [[[int(w), float(q[w])] for w in np.flatnonzero(q)] for q in queries],
        "scores": [bm25(q, case["k1"], case["b"]).tolist() for q in queries],
    }


out = {"docs": DOCS, "queries": QUERIES, "cases": [solved(case) for case in CASES]}
(HERE / "rm3.json").write_text(json.dumps(out) + "\n")
