"""Bad input raises the right exception, with a message that helps."""

from __future__ import annotations

import pickle
import re

import matchrank as mr
import numpy as np
import pandas as pd
import pytest
import scipy.sparse

X = np.arange(12, dtype=float).reshape(6, 2)
Y = np.array([1, 0, 1, 0, 2, 0])
QID = np.array([1, 1, 2, 2, 3, 3])


def fit(x=X, y=Y, qid=QID, **more):
    return mr.RankSVM(lambda_=0.1).fit(x, y, qid, **more)


WITH_NAN = X.copy()
WITH_NAN[3, 1] = np.nan

RANKERS = [
    (lambda: fit(x=WITH_NAN), mr.ParameterError, "contains NaN.*use Mart or LambdaMart"),
    (lambda: fit(x=np.full((6, 2), np.inf)), mr.ParameterError, "infinity"),
    (lambda: fit(x=X * 1e300), mr.ParameterError, "32-bit"),
    (lambda: fit(x=X[:, 0]), mr.ShapeError, "Expected 2D array"),
    (lambda: fit(x=X[:0], y=[], qid=[]), mr.ShapeError, "0 sample"),
    (lambda: fit(x=np.empty((6, 0))), mr.ShapeError, "0 feature"),
    (lambda: fit(x=[["a", "b"]] * 6), mr.ParameterError, "convert or drop columns of text"),
    (lambda: fit(x="train.txt"), mr.InputTypeError, "read_letor"),
    (lambda: fit(x=X.astype(complex)), mr.ParameterError, "[Cc]omplex"),
    (lambda: fit(x=object()), mr.Error, "numbers|2D"),
    (lambda: fit(y=None), mr.ParameterError, "give a grade for each row"),
    (lambda: fit(y=Y[:4]), mr.ShapeError, "y has 4 and X has 6 rows"),
    (lambda: fit(y=-Y), mr.ParameterError, "y has the grade -1 in row 0"),
    (lambda: fit(y=["good"] * 6), mr.ParameterError, "cannot be read as numbers"),
    (lambda: fit(y=[np.nan] * 6), mr.ParameterError, "y contains NaN"),
    (lambda: fit(y=np.zeros(6)), mr.ParameterError, "no order to learn"),
    (lambda: fit(qid=QID[:5]), mr.ShapeError, r"qid has the shape \(5,\); X has 6 rows"),
    (lambda: fit(qid=[1.0, 1, 2, 2, 3, np.nan]), mr.ParameterError, "qid has NaN"),
    (lambda: fit(qid=["a", "a", None, "b", "c", "c"]), mr.ParameterError, "missing value"),
    (lambda: fit(group=[2, 2, 2]), mr.ParameterError, "qid and group are given"),
    (lambda: fit(qid=None, group=[2, 3]), mr.ShapeError, "sum to 5; X has 6 rows"),
    (lambda: fit(qid=None, group=[6, 0]), mr.ShapeError, "at least one"),
    (lambda: fit(eval_qid=[QID]), mr.ParameterError, "without eval_set"),
    (lambda: fit(eval_set=(X, Y)), mr.ParameterError, "list of one validation set"),
    (lambda: fit(eval_set=[(X, Y)], eval_qid=QID), mr.ParameterError, r"as in \[qid_valid\]"),
    (lambda: fit(eval_set=[X]), mr.ParameterError, "pairs of features and grades"),
    (lambda: fit(eval_set=[(X, np.zeros(6))], eval_qid=[QID]), mr.ParameterError, "no document of the validation lists"),
    (lambda: fit(sample_weight=[0.0] * 6), mr.ParameterError, "zero"),
    (lambda: fit(query_weight=[1, 2]), mr.ShapeError, "2 weights; there are 3 queries"),
    (lambda: fit(query_weight=[1, 2, -1]), mr.ParameterError, "negative"),
    (lambda: fit(query_columns=[0]), mr.ParameterError, "does not take query features"),
    (lambda: mr.RankSVM(loss=3).fit(X, Y, QID), mr.ParameterError, "one of hinge"),
    (lambda: mr.RankSVM(lambda_=-1.0).fit(X, Y, QID), mr.ParameterError, "lambda"),
    (lambda: mr.RankSVM(scaling="zebra").fit(X, Y, QID), mr.ParameterError, "expected auto, none"),
    (lambda: mr.RankSVM(eval_metric="zebra").fit(X, Y, QID), mr.ParameterError, "zebra"),
    (lambda: mr.RankSVM(seed=-1).fit(X, Y, QID), mr.ParameterError, "seed is -1"),
    (lambda: mr.RankSVM().predict(X), mr.NotFittedError, "call fit"),
    (lambda: fit().predict(X[:, :1]), ValueError, "1 features"),
    (lambda: mr.read_letor("nowhere.txt"), mr.MissingFileError, "nowhere.txt: there is no such file"),
    (lambda: mr.tune("lambdamart", X), mr.ParameterError, "validation"),
    (lambda: mr.tune("zebra", "nowhere"), mr.ParameterError, "there is no model called 'zebra'"),
]


@pytest.mark.parametrize(("act", "kind", "message"), RANKERS, ids=[message for *_, message in RANKERS])
def test_rankers_refuse(act, kind, message):
    with pytest.raises(kind, match=message):
        act()


DOCUMENTS = pd.DataFrame({"id": ["1", "2"], "text": ["a b", "c"]})
CLICKS = pd.DataFrame({"query": ["a", "c"], "document": ["1", "2"]})

DATASETS = [
    ({"documents": []}, mr.ParameterError, "no document file"),
    ({"documents": DOCUMENTS[:0]}, mr.Error, "<documents>"),
    ({"clicks": CLICKS[:0]}, mr.Error, "."),
    ({"clicks": None}, mr.ParameterError, "nothing to learn from"),
    ({"clicks": 3}, mr.InputTypeError, "of type int; a path, a data frame"),
    ({"clicks": {"query": ["a"]}}, mr.InputTypeError, "dictionary"),
    ({"clicks": [3, 4]}, mr.InputTypeError, "clicks has a record of type int"),
    ({"clicks": iter([])}, mr.ParameterError, "clicks has no record"),
    ({"clicks": CLICKS[["query"]]}, mr.ParseError, "no column for the document|document"),
    ({"clicks": CLICKS.assign(clicks=[1, -2])}, mr.ParseError, "<clicks>:2: clicks is -2"),
    ({"clicks": CLICKS.assign(clicks=["x", "y"])}, mr.ParseError, "<clicks>:1: clicks is 'x'; a number is expected"),
    ({"clicks": pd.concat([CLICKS, CLICKS], axis=1)}, mr.Error, "."),
    ({"documents": pd.DataFrame({"id": ["1", "1"], "text": ["a", "b"]})}, mr.ParseError, "already used"),
    ({"clicks": "nowhere.csv"}, mr.MissingFileError, "there is no such file"),
    ({"split": "zebra"}, mr.ParameterError, "expected none, query, time"),
    ({"language": ["auto", "german"]}, mr.ParameterError, "stands alone"),
    ({"language": "klingon"}, mr.ParameterError, "klingon"),
    ({"columns": {"query": 3}}, mr.InputTypeError, "name of a column"),
    ({"columns": {"colour": "x"}}, mr.ParameterError, "'colour' is not a column role"),
    ({"columns": {"query": "zebra"}}, mr.ParameterError, "no file has a column of that name"),
    ({"text": ["zebra"]}, mr.ParseError, r"no column 'zebra' \(named by `text`\)"),
    ({"min_clicks": -1}, mr.ParameterError, "`min_clicks` must be 0 or more"),
    ({"holdout": "much"}, mr.ParameterError, "not expected"),
    ({"drop_before": "yesterday"}, mr.ParameterError, "2026-01-31"),
    ({"delimiter": "ab"}, mr.ParameterError, "one character"),
]


@pytest.mark.parametrize(("given", "kind", "message"), DATASETS, ids=[message for *_, message in DATASETS])
def test_ingest_refuses(given, kind, message, tmp_path):
    with pytest.raises(kind, match=message):
        mr.Dataset.ingest(**{"documents": DOCUMENTS, "clicks": CLICKS, **given}, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_errors_know_file_and_line(tmp_path):
    with pytest.raises(mr.ParseError) as error:
        mr.Dataset.ingest(documents=DOCUMENTS, clicks=CLICKS.assign(clicks=["1", "x"]), out=tmp_path / "o")
    assert (error.value.file, error.value.line) == ("<clicks>", 2)
    again = pickle.loads(pickle.dumps(error.value))
    assert (type(again), str(again), again.file, again.line) == (mr.ParseError, str(error.value), "<clicks>", 2)
    (tmp_path / "bad.run").write_text("q Q0 a 1 1 t\nq Q0 b\n")
    with pytest.raises(mr.ParseError) as error:
        mr.evaluate({"q": {"a": 1}}, tmp_path / "bad.run")
    assert error.value.line == 2 and error.value.file.endswith("bad.run")
    assert issubclass(mr.ParseError, ValueError) and issubclass(mr.MissingFileError, FileNotFoundError)


QRELS, RUN = {"q": {"a": 1}}, {"q": {"a": 1.0}}

FIGURES = [
    (lambda: mr.evaluate({}, RUN), mr.ParameterError, "qrels is empty"),
    (lambda: mr.evaluate(QRELS, {}), mr.ParameterError, "run is empty"),
    (lambda: mr.evaluate({1: {"a": 1}}, RUN), mr.ParameterError, "the query 1 of type int; ids are text"),
    (lambda: mr.evaluate(QRELS, {"q": {5: 1.0}}), mr.ParameterError, "the document 5 of type int"),
    (lambda: mr.evaluate(QRELS, {"q": ["a"]}), mr.ParameterError, r"run\['q'\] is of type list"),
    (lambda: mr.evaluate(QRELS, {"q": {"a": "x"}}), mr.ParameterError, "document 'a' is x; a number is expected"),
    (lambda: mr.evaluate(QRELS, {"q": {"a": float("nan")}}), mr.ParameterError, "is NaN"),
    (lambda: mr.evaluate({"q": {"a": float("nan")}}, RUN), mr.ParameterError, "grade"),
    (lambda: mr.evaluate(QRELS, {"other": {"a": 1.0}}), mr.ParameterError, "same query ids"),
    (lambda: mr.evaluate(QRELS, RUN, "zebra@3"), mr.ParameterError, "zebra"),
    (lambda: mr.evaluate(QRELS, RUN, []), mr.ParameterError, "name at least one"),
    (lambda: mr.evaluate(QRELS, RUN, dialect="trek"), mr.ParameterError, "known dialects: matchrank, trec"),
    (lambda: mr.evaluate(QRELS, RUN, ties="zebra"), mr.ParameterError, "expected hash, document"),
    (lambda: mr.evaluate(QRELS, 3), mr.InputTypeError, "run is of type int"),
    (lambda: mr.evaluate(None, RUN), mr.InputTypeError, "qrels is of type NoneType"),
    (lambda: mr.evaluate(QRELS, "nowhere.run"), mr.MissingFileError, "no such file"),
    (lambda: mr.evaluate(QRELS, pd.DataFrame({"qid": ["q"], "docno": ["a"]})), mr.FormatError, "a column called score"),
    (lambda: mr.evaluate(QRELS, pd.DataFrame({"qid": ["q"], "docno": ["a"], "score": ["x"]})), mr.FormatError, "not numbers"),
    (lambda: mr.evaluate(QRELS, pd.DataFrame({"qid": ["q"], "docno": [None], "score": [1.0]})), mr.ParseError, "no value in this row"),
    (lambda: mr.evaluate(pd.DataFrame({"qid": [], "docno": [], "label": []}), RUN), mr.FormatError, "no row"),
    (lambda: mr.significance({"a": mr.evaluate(QRELS, RUN)}), mr.ParameterError, "at least two"),
]


@pytest.mark.parametrize(("act", "kind", "message"), FIGURES, ids=[message for *_, message in FIGURES])
def test_evaluate_refuses(act, kind, message):
    with pytest.raises(kind, match=message):
        act()


def test_models_refuse(shop, bm25, tmp_path):
    cases = [
        (lambda: mr.Bm25(k1="x"), mr.ParameterError, "k1=x: k1 is"),
        (lambda: mr.Bm25(k1=-1), mr.ParameterError, "k1"),
        (lambda: mr.Bm25(zebra=1), mr.ParameterError, "Bm25 has no such parameter; it has k1, b"),
        (lambda: mr.Bm25(seed="x"), mr.ParameterError, "seed is 'x'"),
        (lambda: mr.Bm25(k1=object()), mr.InputTypeError, "of type object"),
        (lambda: mr.Bm25().rank("x"), mr.NotFittedError, "call fit"),
        (lambda: mr.Bm25().save(tmp_path / "m"), mr.NotFittedError, "call fit"),
        (lambda: mr.Bm25().fit(3), mr.InputTypeError, "a dataset is expected"),
        (lambda: mr.Bm25().fit("nowhere"), mr.Error, "nowhere"),
        (lambda: bm25.rank([]), mr.ParameterError, "no query"),
        (lambda: bm25.rank([3]), mr.InputTypeError, "a query is 3"),
        (lambda: bm25.rank("x", k=0), mr.ParameterError, "k is 0"),
        (lambda: bm25.rank("x", k=2.5), mr.ParameterError, "k is 2.5"),
        (lambda: bm25.rank(pd.DataFrame({"a": ["x"]})), mr.FormatError, "query_id or qid"),
        (lambda: bm25.score([]), mr.ParameterError, "no pair"),
        (lambda: bm25.score(["ab"]), mr.InputTypeError, "no pair"),
        (lambda: bm25.score([(1, "a")]), mr.InputTypeError, "a text is expected"),
        (lambda: bm25.explain("", "a"), mr.ParameterError, "the query is empty"),
        (lambda: bm25.explain("x", "zebra"), mr.FormatError, "no document 'zebra'"),
        (lambda: bm25.map_queries(["x"]), mr.ParameterError, "no latent vectors"),
        (lambda: mr.Combination(bm25), mr.InputTypeError, "several models"),
        (lambda: mr.Combination([bm25, bm25]), mr.ParameterError, "two models are called bm25"),
        (lambda: mr.Combination([bm25, 3]), mr.InputTypeError, "part of type int"),
        (lambda: mr.Combination([bm25, "clicks"], weights=[0.2, 0.9]).fit(shop), mr.ParameterError, "sum"),
        (lambda: mr.Combination([bm25]).fit(shop), mr.ParameterError, "2 to 12 models"),
        (lambda: mr.Combination([bm25, "clicks"], candidates="few").fit(shop), mr.ParameterError, "all or judged"),
        (lambda: mr.Stack([bm25], ranker_of=bm25), mr.InputTypeError, "trained Stack"),
        (lambda: mr.Stack([bm25], zebra=1), mr.ParameterError, "Stack has no such parameter"),
        (lambda: mr.Stack([]), mr.ParameterError, "has no model"),
        (lambda: mr.load("nowhere.model"), mr.MissingFileError, "no such file"),
        (lambda: mr.load(__file__), mr.FormatError, "."),
        (lambda: shop.queries("zebra"), mr.ParameterError, "expected validation, test"),
        (lambda: mr.compare(shop, [3], out=tmp_path / "c"), mr.InputTypeError, "of type int"),
        (lambda: mr.compare(shop, ["zebra"], out=tmp_path / "c"), mr.ParameterError, "zebra"),
        (lambda: mr.tune("bm25", shop, trials=0), mr.ParameterError, "trials must be at least 1"),
        (lambda: mr.tune("bm25", shop, vary={"zebra": [1]}), mr.ParameterError, "zebra"),
        (lambda: mr.tune("bm25", shop, vary={"k1": 3}), mr.InputTypeError, "no list of values"),
        (lambda: mr.features(shop, [bm25], split="zebra"), mr.ParameterError, "expected validation, test"),
        (lambda: mr.features(shop, [bm25], candidates="judged", depth=3), mr.ParameterError, "depth is for"),
        (lambda: mr.export.elasticsearch(bm25), mr.InputTypeError, "a ranker is expected"),
        (lambda: mr.simulate.shop(tmp_path / "s", products=0), mr.ParameterError, "."),
        (lambda: mr.simulate.clicks(tmp_path / "s", preset="zebra"), mr.ParameterError, "expected small"),
    ]
    for act, kind, message in cases:
        with pytest.raises(kind, match=message):
            act()
    assert not (tmp_path / "c").exists()


def test_messages_name_arguments_and_no_flags(shop, tmp_path):
    with pytest.raises(mr.Error) as error:
        mr.Dataset.ingest(documents=DOCUMENTS, clicks=CLICKS, split="time", out=tmp_path / "o")
    assert "--" not in str(error.value) and "option" not in str(error.value)
    assert re.search(r"`\w+", str(error.value))


def test_a_damaged_model_is_refused(bm25, tmp_path):
    content = bytearray(bm25.to_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / "m").write_bytes(content)
    with pytest.raises(mr.FormatError) as error:
        mr.load(tmp_path / "m")
    assert error.value.file.endswith("m")


def test_a_sparse_matrix_with_holes_is_read(tmp_path):
    matrix = scipy.sparse.csr_matrix((np.ones(3), [1, 1, 0], [0, 2, 2, 3, 3, 3, 3]), shape=(6, 2))
    dense = fit(x=matrix.toarray(), y=Y)
    assert fit(x=matrix, y=Y).to_bytes() == dense.to_bytes()
    zeros = scipy.sparse.csr_matrix(matrix.toarray())
    zeros.data[0] = 0.0
    assert fit(x=zeros).to_bytes() == fit(x=zeros.toarray()).to_bytes()
