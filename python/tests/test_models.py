"""Matching models in Python: ranking, explaining, saving."""

from __future__ import annotations

import copy
import inspect
import pickle

import matchrank as mr
import numpy as np
import pandas as pd
import polars as pl
import pytest
from matchrank._values import python_name


def test_every_kind_has_a_class_with_its_defaults():
    for kind, cls in mr.models.CLASSES.items():
        assert getattr(mr, cls.__name__) is cls and cls.kind == kind
        parameters = inspect.signature(cls).parameters
        for name, default in cls._kind["defaults"].items():
            assert parameters[python_name(name)].default == default
        for parameter in cls._kind["parameters"]:
            assert python_name(parameter["name"]) in parameters and parameter["help"].split()[0] in cls.__doc__


def test_a_model_ranks_scores_and_explains(bm25, shop):
    table = bm25.rank(["red shoes", "shoes red red"], k=5)
    assert table.columns == ["query", "document", "rank", "score"] and len(table) == 10
    assert table["rank"].tolist() == [1, 2, 3, 4, 5] * 2 and table["rank"].dtype == np.uint32
    pairs = list(zip(table["query"], table["document"], strict=True))
    assert bm25.score(pairs) == pytest.approx(table["score"], rel=1e-5)
    backwards = bm25.score(pairs[::-1])
    assert backwards == pytest.approx(table["score"][::-1], rel=1e-5)
    frame = pd.DataFrame(pairs, columns=["query", "docno"])
    assert (bm25.score(frame) == bm25.score(pairs)).all()
    explanation = bm25.explain(*pairs[0])
    assert explanation.score == pytest.approx(table["score"][0], rel=1e-5)
    assert sum(row["score"] for row in explanation.rows) == pytest.approx(explanation.score, rel=1e-4)
    assert len(explanation.to_pandas()) == len(explanation.rows) and "bm25" in explanation._repr_html_()


def test_queries_come_in_many_forms(bm25, shop):
    expected = list(bm25.rank(["red shoes"], k=3)["document"])
    frame = pd.DataFrame({"qid": ["7"], "query": ["red shoes"]})
    forms = ["red shoes", ("red shoes",), {"7": "red shoes"}, [("7", "red shoes")], frame, pl.from_pandas(frame)]
    for form in forms:
        table = bm25.rank(form, k=3)
        assert list(table["document"]) == expected
        has_texts = form is forms[0] or form is forms[1]
        assert table["query" if has_texts else "query_id"][0] == ("red shoes" if has_texts else "7")


def test_documents_that_nobody_knows_and_words_that_nobody_has(bm25, pls):
    assert len(bm25.rank("zzzz")) == 0
    document = bm25.rank("red shoes", k=1)["document"][0]
    assert bm25.score([("zzzz", document)]).tolist() == [0.0]
    assert pls.explain("zzzz", document).score is None
    with pytest.raises(mr.FormatError, match="there is no document 'none'"):
        bm25.score([("red shoes", "none")])


def test_vectors_score_as_the_model_does(pls, shop):
    queries = ["red shoes", "blue jacket"]
    x, y = pls.map_queries(queries), pls.map_documents()
    assert x.shape == (2, 12) and y.shape == (600, 12) and x.dtype == np.float32
    ids = list(shop.documents()["document"])
    table = pls.rank(queries, k=4)
    for query, document, score in zip(table["query"], table["document"], table["score"], strict=True):
        own = x[queries.index(query)] @ y[ids.index(document)]
        assert own == pytest.approx(float(score), rel=1e-4)


def test_related_words_and_descriptions(pls, bm25):
    related = pls.related("shoes", k=5, min_documents=1)
    assert related.columns[0] == "word" and len(related) == 5
    with pytest.raises(mr.ParameterError, match="knows no words"):
        bm25.related("shoes")
    facts = pls.inspect()
    assert facts["kind"] == "pls" and "pls" in repr(facts) and "<table" in facts._repr_html_()
    assert pls.provenance["made_by"]["kind"] == "pls" and 0 <= pls.validation() <= 1


def test_models_are_saved_loaded_pickled_and_copied(pls, shop, tmp_path):
    pls.save(tmp_path / "pls.model")
    loaded = mr.load(tmp_path / "pls.model", shop)
    assert type(loaded) is mr.Pls and repr(loaded) == "Pls(d=12)" and loaded.params["d"] == 12
    expected = pls.rank("red shoes")
    for other in (loaded, pickle.loads(pickle.dumps(pls)), copy.deepcopy(pls)):
        assert other.rank("red shoes") == expected and other.to_bytes() == pls.to_bytes()
    alone = mr.load(tmp_path / "pls.model")
    with pytest.raises(mr.ParameterError, match="loaded without a dataset"):
        alone.rank("red shoes")
    assert alone.rank("red shoes", dataset=shop) == expected
    assert mr.load(tmp_path / "pls.model").bind(shop.path).rank("red shoes") == expected


def test_models_of_models(bm25, pls, shop, tmp_path):
    for model in (
        mr.Combination([bm25, pls], weights=[0.5]).fit(shop),
        mr.Stack({"words": bm25, "latent": pls, "clicks": "clicks"}, ranker="listnet", folds=2).fit(shop),
    ):
        again = pickle.loads(pickle.dumps(model))
        assert again.rank("red shoes") == model.rank("red shoes")
        model.save(tmp_path / "m.model")
        loaded = mr.load(tmp_path / "m.model", shop)
        assert type(loaded) is type(model) and list(loaded.parts) == list(model.parts)
        best = model.rank("red shoes", k=1)["document"][0]
        assert len([row for row in model.explain("red shoes", best).rows if row.get("model") in model.of]) == len(model.of)
        assert type(model).__name__ in repr(model)
    assert list(model.of) == ["words", "latent", "clicks"]


def test_parts_that_are_not_trained_are_trained_without_a_change_of_the_given_ones(shop):
    part = mr.Bm25(k1=0.7)
    both = mr.Combination([part, "clicks"], weights=[0.5, 0.5]).fit(shop)
    assert not part.is_fitted and both.parts["first"].kind == "bm25"


def test_a_comparison(shop, tmp_path):
    result = mr.compare(
        shop, {"bm25": "bm25", "small": mr.Pls(d=4), "clicks": "clicks"}, out=tmp_path / "c", trials=1, measures="ndcg@10,map"
    )
    frame = result.to_pandas()
    assert {"bm25", "small", "clicks"} <= set(frame.index) and "test ndcg@10" in frame.columns
    assert result.model("small").kind == "pls" and result.model("small").params["d"] == 4
    run = result.model("small").rank(shop.queries("test"), k=1000)
    assert frame.loc["small", "test ndcg@10"] > 0 and len(run) > 0
    page = result.report(tmp_path / "page.html")
    assert page.read_text().startswith("<!") and "<table" in result._repr_html_()
    assert mr.open_comparison(tmp_path / "c").models == result.models
    with pytest.raises(mr.ParameterError, match="there is no model 'zebra'"):
        result.model("zebra")


def test_tuning(shop):
    tuned = mr.tune(mr.Bm25(b=0.3), shop, vary={"k1": [0.5, 1.5]}, strategy="grid", trials=4)
    assert {trial["settings"].get("k1") for trial in tuned.trials} >= {0.5, 1.5}
    assert tuned.model.params["b"] == 0.3 and tuned.model.is_fitted
    assert tuned.best["validation"] == max(trial["validation"] for trial in tuned.trials)
    assert len(tuned.to_pandas()) == len(tuned.trials) and "trials" in tuned._repr_html_()
    with pytest.raises(mr.ParameterError, match="expected grid, random or halving"):
        mr.tune("bm25", shop, strategy="guess")


def test_features_are_scores(bm25, pls, shop):
    found = mr.features(shop, {"words": bm25, "latent": pls}, split="test", candidates="judged")
    assert found.names == ["words", "words, standardised", "latent", "latent, standardised"]
    assert found.X.shape == (len(found.y), 4)
    queries = dict(zip(shop.queries()["query_id"], shop.queries()["query"], strict=True))
    frame = found.to_pandas()
    scores = bm25.score([(queries[q], d) for q, d in zip(frame.query_id, frame.document, strict=True)])
    assert scores.max() > 0 and frame.words.to_numpy() == pytest.approx(scores, rel=1e-4, abs=1e-6)
    ranker = mr.ListNet().fit(found.X, found.y, found.qid)
    assert ranker.score(found.X, found.y, found.qid) > 0.5


def test_exports(shop, tmp_path):
    model = mr.SparsePreference(tuples=50000).fit(shop)
    text = mr.export.synonyms(model, tmp_path / "s.txt", threshold=0.0, min_support=1)
    assert "=>" in text and (tmp_path / "s.txt").read_text() == text
    vectors = mr.export.query_vectors(mr.Pls(d=4).fit(shop), {"q1": "red shoes"})
    assert vectors.splitlines()[0] == "query\tv1\tv2\tv3\tv4"
    with pytest.raises(mr.ParameterError, match="has no weights of pairs of words"):
        mr.export.synonyms(mr.Bm25().fit(shop))


def test_a_log_can_be_simulated(tmp_path):
    log = mr.simulate.clicks(tmp_path / "log", queries=400, documents=400, words=600, judged=50, seed=3)
    assert log.statistics["clicks"] > 0 and (tmp_path / "log" / "clicks.csv").exists()
    again = mr.simulate.clicks(tmp_path / "again", queries=400, documents=400, words=600, judged=50, seed=3)
    assert (log.path / "clicks.csv").read_bytes() == (again.path / "clicks.csv").read_bytes()
    (tmp_path / "log" / "mine.txt").write_text("x")
    with pytest.raises(mr.FormatError, match="no file of a simulation"):
        mr.simulate.shop(tmp_path / "log")
