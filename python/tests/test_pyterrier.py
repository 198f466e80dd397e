"""Transformers in PyTerrier's pipelines and experiments."""

from __future__ import annotations

import matchrank as mr
import numpy as np
import pandas as pd
import pytest

pt = pytest.importorskip("pyterrier")


@pytest.fixture(scope="module")
def topics(shop):
    return shop.queries("test").to_pandas().rename(columns={"query_id": "qid"})


@pytest.fixture(scope="module")
def qrels(shop):
    names = {"query_id": "qid", "document": "docno", "grade": "label"}
    return shop.judgments("test").to_pandas().rename(columns=names).astype({"label": int})


def test_a_retriever_has_the_columns_of_pyterrier(bm25, topics):
    found = mr.pyterrier.Retriever(bm25, k=7, text=True)(topics)
    assert list(found.columns) == ["qid", "query", "docno", "score", "rank", "text"]
    assert found["rank"].min() == 0 and found.groupby("qid").size().max() == 7
    one = mr.pyterrier.Retriever(bm25, k=7).search("red shoes")
    assert list(one["docno"]) == list(bm25.rank("red shoes", k=7)["document"])
    assert len(mr.pyterrier.Retriever(bm25)(topics[:0])) == 0


def test_a_reranker_keeps_rows(bm25, pls, topics):
    first = mr.pyterrier.Retriever(bm25, k=10)
    found = (first >> mr.pyterrier.Reranker(pls))(topics)
    assert len(found) == len(first(topics))
    some = found[found.qid == found.qid.iloc[0]].sort_values("rank")
    assert (np.diff(some["score"]) <= 0).all() and sorted(some["rank"]) == list(range(len(some)))
    expected = pls.score(list(zip(some["query"], some["docno"], strict=True)))
    assert some["score"].to_numpy() == pytest.approx(expected, rel=1e-5)
    unknown = pd.DataFrame({"qid": ["1", "1"], "query": ["red shoes"] * 2, "docno": ["nobody", found["docno"].iloc[0]]})
    ranks = mr.pyterrier.Reranker(pls)(unknown).set_index("docno")["rank"]
    assert ranks["nobody"] == 1
    with pytest.raises(mr.ParameterError, match="needs the columns qid, query, docno"):
        mr.pyterrier.Reranker(pls)(topics)


def test_an_experiment_has_the_figures_of_evaluate(bm25, pls, shop, topics, qrels):
    first = mr.pyterrier.Retriever(bm25, k=50)
    second = first >> mr.pyterrier.Reranker(pls)
    names = ["ndcg_cut_10", "map", "recip_rank"]
    table = pt.Experiment([first, second], topics, qrels, names, names=["bm25", "pls"])
    run = bm25.rank(shop.queries("test"), k=50)
    own = mr.evaluate(shop, run, ["ndcg@10", "map", "mrr"], dialect="trec", complete=True)
    assert table.loc[0, names].to_list() == pytest.approx(list(dict(own).values()), abs=1e-6)


def test_a_ranker_learns_in_a_pipeline(bm25, pls, topics, qrels):
    first = mr.pyterrier.Retriever(bm25, k=30)
    features = first >> (mr.pyterrier.Reranker(bm25) ** mr.pyterrier.Reranker(pls))
    pipeline = features >> mr.pyterrier.Ranker(mr.ListNet())
    half = len(topics) // 2
    pipeline.fit(topics[:half], qrels, topics[half:], qrels)
    found = pipeline(topics[half:])
    assert {"qid", "docno", "score", "rank", "features"} <= set(found.columns)
    table = pt.Experiment([first, pipeline], topics[half:], qrels, ["ndcg_cut_10"])
    assert table["ndcg_cut_10"].min() > 0
    with pytest.raises(mr.InputTypeError, match="a ranker such as"):
        mr.pyterrier.Ranker("lambdamart")
