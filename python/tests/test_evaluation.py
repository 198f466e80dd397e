"""Measures against those of other tools."""

from __future__ import annotations

import json
import math
import random

import matchrank as mr
import numpy as np
import pandas as pd
import polars as pl
import pytest


def made(seed: int, n_queries: int = 30, depth: int = 40, ties: bool = True):
    """Judgments and a run, with ties, unjudged documents and queries that one of the two lacks."""
    rng = random.Random(seed)
    qrels = {f"q{q}": {f"d{rng.randrange(80)}": rng.choice([0, 0, 1, 2, 3]) for _ in range(15)} for q in range(n_queries)}
    for grades in qrels.values():
        grades["d999"] = 1
    score = (lambda: rng.randrange(10) / 2) if ties else rng.random
    run = {f"q{q}": {f"d{d}": float(score()) for d in rng.sample(range(90), depth)} for q in range(2, n_queries + 2)}
    return qrels, run


@pytest.mark.parametrize("seed", range(5))
def test_trec_figures_are_those_of_pytrec_eval(seed):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    qrels, run = made(seed)
    names = {"ndcg_cut_10": "ndcg@10", "map": "map", "recip_rank": "mrr", "P_5": "p@5", "recall_100": "r@100", "bpref": "bpref"}
    theirs = pytrec_eval.RelevanceEvaluator(qrels, set(names)).evaluate(run)
    own = mr.evaluate(qrels, run, list(names.values()), dialect="trec")
    per_query = own.per_query
    assert per_query.keys() == theirs.keys()
    for query, values in theirs.items():
        for name, measure in names.items():
            assert per_query[query][measure] == pytest.approx(values[name], abs=1e-9), (query, name)
    for name, measure in names.items():
        assert own[measure] == pytest.approx(np.mean([values[name] for values in theirs.values()]))


def test_ranx_figures_are_those_of_ranx():
    ranx = pytest.importorskip("ranx")
    qrels, run = made(3, ties=False)
    # ranx wants the same queries on both sides.
    qrels = {query: grades for query, grades in qrels.items() if query in run}
    run = {query: run[query] for query in qrels}
    names = ["ndcg@10", "map", "mrr", "precision@5", "recall@20"]
    theirs = ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), names)
    own = mr.evaluate(qrels, run, ["ndcg@10", "map", "mrr", "p@5", "r@20"], dialect="ranx")
    assert list(dict(own).values()) == pytest.approx(
        [float(theirs[name]) for name in names]
    )


@pytest.mark.parametrize("dialect", ["matchrank", "trec", "ranx", "lightgbm"])
def test_dictionaries_frames_and_files_are_the_same(dialect, tmp_path):
    qrels, run = made(7)
    expected = mr.evaluate(qrels, run, dialect=dialect)
    rows = [(q, d, s) for q, scores in run.items() for d, s in scores.items()]
    judged = [(q, d, g) for q, grades in qrels.items() for d, g in grades.items()]
    frames = {
        "ir": (pd.DataFrame(judged, columns=["query_id", "doc_id", "relevance"]), pd.DataFrame(rows, columns=["query_id", "doc_id", "score"])),
        "pt": (pd.DataFrame(judged, columns=["qid", "docno", "label"]), pd.DataFrame(rows, columns=["qid", "docno", "score"])),
    }
    for own_qrels, own_run in frames.values():
        assert dict(mr.evaluate(own_qrels, own_run, dialect=dialect)) == dict(expected)
        assert dict(mr.evaluate(pl.from_pandas(own_qrels), pl.from_pandas(own_run), dialect=dialect)) == dict(expected)
    (tmp_path / "q").write_text("".join(f"{q} 0 {d} {g}\n" for q, d, g in judged))
    (tmp_path / "r").write_text("".join(f"{q} Q0 {d} 1 {s!r} t\n" for q, d, s in rows))
    assert dict(mr.evaluate(tmp_path / "q", str(tmp_path / "r"), dialect=dialect)) == dict(expected)


def test_rows_of_a_query_may_be_scattered():
    qrels, run = made(9)
    frame = pd.DataFrame([(q, d, s) for q, x in run.items() for d, s in x.items()], columns=["qid", "docno", "score"])
    mixed = frame.sample(frac=1.0, random_state=1)
    assert mr.evaluate(qrels, mixed)["ndcg@10"] == pytest.approx(mr.evaluate(qrels, run)["ndcg@10"])


def test_numbers_of_all_kinds():
    qrels = {"q": {"a": 1, "b": np.int64(0), "c": True}}
    one = mr.evaluate(qrels, {"q": {"a": 3, "b": 2.0, "c": np.float32(1.0)}}, "ndcg@3,map")
    other = mr.evaluate(qrels, {"q": {"a": 3.0, "b": np.float64(2.0), "c": 1}}, "ndcg@3,map")
    assert dict(one) == dict(other) == pytest.approx({"ndcg@3": one["ndcg@3"], "map": (1 + 2 / 3) / 2})


def test_an_evaluation_shows_itself():
    qrels, run = made(1)
    found = mr.evaluate(qrels, run, ["ndcg@10", "map"])
    assert list(found) == found.measures == ["ndcg@10", "map"] and len(found) == 2
    frame = found.to_pandas()
    assert frame["map"].mean() == pytest.approx(found["map"]) and frame.index.name == "query"
    assert found.audit["judged_queries"] == 30 and found.conventions["dialect"] == "matchrank"
    assert "ndcg@10" in repr(found) and "<table" in found._repr_html_()
    complete = mr.evaluate(qrels, run, "map", dialect="trec", complete=True)
    assert complete["map"] < mr.evaluate(qrels, run, "map", dialect="trec")["map"]
    bounds = [mr.evaluate(qrels, run, "map", ties=ties)["map"] for ties in ("worst", "hash", "best")]
    assert bounds == sorted(bounds)


def test_differences_are_tested():
    qrels, run = made(1)
    _, other = made(2)
    results = {"a": mr.evaluate(qrels, run), "b": mr.evaluate(qrels, other)}
    table = mr.significance(results, "map", test="fisher")
    assert table.columns == ["better", "worse", "difference", "p", "p_holm"] and 0 < table["p"][0] <= 1
    assert math.isclose(table["difference"][0], abs(results["a"]["map"] - results["b"]["map"]), abs_tol=1e-9)


def test_a_large_run_is_read_as_a_small_one():
    rng = random.Random(0)
    qrels = {f"q{q}": {f"d{rng.randrange(2000)}": 1 for _ in range(20)} for q in range(200)}
    run = {f"q{q}": {f"d{d}": rng.random() for d in rng.sample(range(2000), 1000)} for q in range(200)}
    found = mr.evaluate(qrels, run, "map,ndcg@10")
    by_hand = []
    for query, grades in qrels.items():
        order = sorted(run[query], key=run[query].get, reverse=True)
        hits, total = 0, 0.0
        for rank, document in enumerate(order, 1):
            if document in grades:
                hits += 1
                total += hits / rank
        by_hand.append(total / len(grades))
    assert found["map"] == pytest.approx(np.mean(by_hand))


def test_ir_measures_has_a_provider(tmp_path):
    ir_measures = pytest.importorskip("ir_measures")
    qrels, run = made(4)
    provider = mr.ir_measures.provider
    names = ["nDCG@10", "AP", "RR", "P@5", "R@20", "Bpref", "nDCG", "P(rel=2)@10"]
    measures = [ir_measures.parse_measure(name) for name in names]
    assert all(provider.supports(measure) for measure in measures)
    assert not provider.supports(ir_measures.parse_measure("alpha_nDCG@10"))
    theirs = ir_measures.providers.registry["pytrec_eval"]
    expected = theirs.calc_aggregate(measures, qrels, run)
    own = provider.calc_aggregate(measures, qrels, run)
    for measure in measures:
        assert own[measure] == pytest.approx(expected[measure], abs=1e-6), str(measure)
    values = {(m.query_id, str(m.measure)): m.value for m in provider.iter_calc(measures, qrels, run)}
    for metric in theirs.iter_calc(measures, qrels, run):
        assert values[metric.query_id, str(metric.measure)] == pytest.approx(metric.value, abs=1e-6)
    assert json.loads(json.dumps(str(ir_measures.providers.registry["matchrank"].NAME))) == "matchrank"
