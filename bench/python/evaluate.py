"""Evaluation from dictionaries in memory, next to pytrec_eval and ranx: conversion included.

    python evaluate.py [QUERIES] [DEPTH]
"""

from __future__ import annotations

import random
import statistics
import sys
import time

import matchrank as mr
import pytrec_eval
import ranx

QUERIES = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
DEPTH = int(sys.argv[2]) if len(sys.argv) > 2 else 1_000
REPEATS = 3


def made() -> tuple[dict, dict]:
    """Judgments and a run: 40 judged documents a query, ids of ten characters, scores that descend in the dictionary."""
    rng = random.Random(1)
    ids = [f"D{i:09}" for i in range(200_000)]
    qrels, run = {}, {}
    for query in range(QUERIES):
        start = rng.randrange(len(ids) - 2 * DEPTH)
        documents = rng.sample(ids[start : start + 2 * DEPTH], DEPTH)
        scores = sorted((rng.random() for _ in range(DEPTH)), reverse=True)
        run[f"q{query}"] = dict(zip(documents, scores))
        qrels[f"q{query}"] = {document: rng.randrange(4) for document in rng.sample(documents, 30) + ids[:10]}
    return qrels, run


def timed(name: str, work) -> float:
    spent = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        figures = work()
        spent.append(time.perf_counter() - began)
    shown = ", ".join(f"{value:.6f}" for value in figures)
    print(f"{name:12} {min(spent):7.2f} s (median {statistics.median(spent):.2f})  ndcg@10, map, mrr: {shown}", flush=True)
    return min(spent)


def ours(dialect: str):
    return lambda: list(dict(mr.evaluate(qrels, run, ["ndcg@10", "map", "mrr"], dialect=dialect)).values())


def theirs():
    values = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut_10", "map", "recip_rank"}).evaluate(run).values()
    return [statistics.fmean(value[name] for value in values) for name in ("ndcg_cut_10", "map", "recip_rank")]


def ranxs():
    found = ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), ["ndcg@10", "map", "mrr"])
    return [float(found[name]) for name in ("ndcg@10", "map", "mrr")]


if __name__ == "__main__":
    qrels, run = made()
    print(f"{QUERIES:,} queries x {DEPTH:,} documents, {mr.threads()} threads")
    small = {query: qrels[query] for query in list(qrels)[:50]}
    ranx.evaluate(ranx.Qrels(small), ranx.Run({query: run[query] for query in small}), ["ndcg@10", "map", "mrr"])
    own = timed("matchrank", ours("trec"))
    other = timed("pytrec_eval", theirs)
    print(f"             {other / own:.1f} times")
    own = timed("matchrank", ours("ranx"))
    other = timed("ranx", ranxs)
    print(f"             {other / own:.1f} times (compiled before)")
