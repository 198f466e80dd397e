"""What a new user meets first: rows that are lost, ids that differ, queries that are forgotten."""

from __future__ import annotations

import inspect
import subprocess
import sys
import warnings

import matchrank as mr
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from sklearn.model_selection import GridSearchCV, GroupKFold

DOCUMENTS = pd.DataFrame({"sku": [11, 12, 13], "name": ["red shoe", "blue hat", "green boot"], "price": [1.0, 2.5, 4.0]})
CLICKS = pd.DataFrame({"query": ["red shoe", "hat", "boot", "red"] * 5, "sku": [11, 12, 13, 11] * 5})


def ingested(tmp_path, name="d", **given):
    return mr.Dataset.ingest(**{"documents": DOCUMENTS, "clicks": CLICKS, **given}, out=tmp_path / name)


def test_score_without_queries_warns(lists, tmp_path):
    x, y, qid = lists
    ranker = mr.RankSVM(lambda_=0.1).fit(x, y, qid)
    ranker.save(tmp_path / "r.model")
    for one in (ranker, mr.load(tmp_path / "r.model")):
        with pytest.warns(UserWarning, match="give qid, or call sklearn.set_config"):
            one.score(x, y)
    with pytest.warns(UserWarning, match="score without qid"):
        GridSearchCV(mr.RankSVM(), {"lambda_": [0.1]}, cv=GroupKFold(2)).fit(x, y, qid=qid, groups=qid)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ranker.score(x, y, qid)
        mr.RankSVM(lambda_=0.1).fit(x, y).score(x, y)
        with sklearn.config_context(enable_metadata_routing=True):
            GridSearchCV(mr.RankSVM(), {"lambda_": [0.1]}, cv=GroupKFold(2)).fit(x, y, qid=qid, groups=qid)


def test_validation_lists_need_queries_where_the_others_have_them(lists, valid_lists):
    x, y, qid = lists
    vx, vy, vq = valid_lists
    with pytest.raises(mr.ParameterError, match=r"give eval_qid=\[qid_valid\]"):
        mr.RankSVM().fit(x, y, qid, eval_set=[(vx, vy)])
    assert mr.RankSVM(lambda_=0.1).fit(x, y, eval_set=[(vx, vy)]).best_score_ > 0


def test_grades_that_are_missing_are_named_by_row(lists):
    x, y, qid = lists
    y = y.copy()
    y[7] = np.nan
    with pytest.raises(mr.ParameterError, match="NaN.*row 7"):
        mr.RankSVM().fit(x, y, qid)


def test_the_index_of_pandas_is_no_column(tmp_path):
    expected = ingested(tmp_path, "expected")
    mixed = np.arange(len(CLICKS))[::-1] + 100
    for i, (documents, clicks) in enumerate([
        (DOCUMENTS.set_axis([7, 8, 9]), CLICKS),
        (DOCUMENTS.set_axis(list("abc")), CLICKS.set_axis(mixed)),
        (pa.Table.from_pandas(DOCUMENTS.set_axis([7, 8, 9])), CLICKS),
        (DOCUMENTS.set_index("sku"), CLICKS),
    ]):
        made = ingested(tmp_path, f"d{i}", documents=documents, clicks=clicks)
        assert made.content_hash == expected.content_hash
        assert [found["name"] for found in made.manifest["attributes"]] == ["price"]


def test_ids_that_pandas_made_floats_are_whole_numbers(tmp_path):
    expected = ingested(tmp_path, "expected")
    floats = CLICKS.assign(sku=CLICKS.sku.astype(float))
    with_gap = pd.concat([floats, pd.DataFrame({"query": ["red"], "sku": [np.nan]})], ignore_index=True)
    for i, (documents, clicks) in enumerate([
        (DOCUMENTS, floats),
        (DOCUMENTS.assign(sku=DOCUMENTS.sku.astype(float)), CLICKS),
        (DOCUMENTS, with_gap),
        (DOCUMENTS, pl.from_pandas(with_gap)),
        (DOCUMENTS, pa.Table.from_pandas(with_gap, preserve_index=False)),
        (DOCUMENTS, with_gap.to_dict("records")),
    ]):
        made = ingested(tmp_path, f"d{i}", documents=documents, clicks=clicks)
        assert made.content_hash == expected.content_hash, i
    named = ingested(
        tmp_path, "named", clicks=floats.rename(columns={"sku": "thing"}), columns={"<clicks>": {"document": "thing"}}
    )
    assert named.n_pairs == expected.n_pairs
    # Other columns are what they are, and ids that are no whole numbers stay.
    odd = ingested(tmp_path, "odd", documents=DOCUMENTS.assign(sku=[1.5, 2.5, 3.5]), clicks=CLICKS.assign(sku=1.5))
    assert list(odd.documents()["document"])[0] == "1.5"


def test_ids_of_arrow_tables_need_no_pandas():
    code = """
import sys
class NoPandas:
    def find_spec(self, name, *_):
        if name.partition(".")[0] == "pandas":
            raise ImportError(name)
sys.meta_path.insert(0, NoPandas())
import pyarrow as pa
from matchrank._values import table_of
table = table_of(pa.table({"sku": pa.chunked_array([[1.0, None], [3.0]]), "price": [1.0, 2.0, 3.0]}))
print(table.column("sku").to_pylist(), table.column("price").type)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "[1, None, 3] double\n", done.stderr


def test_lost_rows_are_told(tmp_path):
    wrong = CLICKS.assign(sku=np.where(np.arange(len(CLICKS)) % 2, 99, CLICKS.sku))
    with pytest.warns(UserWarning, match="10 of 20 rows of the log were left out: 10 rows whose document is not in the collection"):
        made = ingested(tmp_path, clicks=wrong)
    assert made.left_out == {"rows whose document is not in the collection": 10}
    assert "10 rows whose document is not in the collection" in made._repr_html_()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        good = made.append(clicks=CLICKS)
        ingested(tmp_path, "good")
        (tmp_path / "gone.txt").write_text("12\n")
        ingested(tmp_path, "smaller").append(removed=tmp_path / "gone.txt")
    with pytest.warns(UserWarning, match="20 of 20 rows"):
        good.append(clicks=CLICKS.assign(sku=77))


def test_missing_values_of_records_are_no_words(tmp_path):
    records = DOCUMENTS.assign(name=["red shoe", np.nan, "green boot"], color=[None, pd.NA, np.float32("nan")]).to_dict("records")
    made = ingested(tmp_path, documents=records)
    assert not made.document("12").get("name") and "nan" not in str(made.documents().to_dict()).lower().split("'")
    assert made.fields == {"name": 1.0}


def test_a_dataset_shows_itself_in_plain_words(shop):
    html = shop._repr_html_()
    for text in ("queries", "documents", "clicks", "training pairs", "63 validation, 62 test", "split", "price (number)", "left out"):
        assert text in html
    assert "n_x" not in html and "d_y" not in html


def test_a_dataset_without_judgments_says_so(tmp_path):
    made = ingested(tmp_path)
    run = mr.Bm25().fit(made).rank(["red"], k=1)
    for act in (lambda: made.queries("test"), lambda: made.judgments(), lambda: mr.evaluate(made, run)):
        with pytest.raises(mr.ParameterError, match='no test judgments; ingest with split="time" or split="query", or give test='):
            act()


def test_ids_and_texts_of_queries_are_not_confused(shop, bm25):
    queries = shop.queries("test")
    by_id, by_text = bm25.rank(queries, k=20), bm25.rank(queries["query"], k=20)
    assert by_id.columns == ["query_id", "document", "rank", "score"] and by_text.columns[0] == "query"
    assert set(by_id["query_id"]) <= set(queries["query_id"]) and set(by_text["query"]) <= set(queries["query"])
    assert pl.DataFrame(by_id).columns == by_id.to_pandas().columns.tolist() == by_id.columns
    with pytest.raises(KeyError, match="there are query_id"):
        by_id["query"]
    expected = dict(mr.evaluate(shop, by_id))
    for run in (by_text, by_text.to_pandas(), pl.DataFrame(by_text), by_id.to_pandas(), by_id[:]):
        assert dict(mr.evaluate(shop, run)) == pytest.approx(expected)
    as_dict = {}
    for row in by_text:
        as_dict.setdefault(row["query"], {})[row["document"]] = row["score"]
    assert dict(mr.evaluate(shop, as_dict)) == pytest.approx(expected)


def test_queries_that_are_missing_from_a_run_are_told(shop, bm25):
    few = bm25.rank(shop.queries("test").to_pandas()[:5], k=5)
    with pytest.warns(UserWarning, match="of 62 judged queries are missing from the run"):
        mr.evaluate(shop, few)


def test_columns_and_frames_are_queries(bm25):
    expected = bm25.rank(["red shoes", "blue hat"], k=2)
    texts = ["red shoes", "blue hat"]
    for queries in (pd.Series(texts, index=[7, 8]), pl.Series(texts), pa.array(texts).to_pylist(), np.array(texts),
                    pd.DataFrame({"query": texts}), pl.DataFrame({"text": texts}), pa.table({"query": texts})):
        assert bm25.rank(queries, k=2) == expected
    pairs = list(zip(expected["query"], expected["document"], strict=True))
    assert (bm25.score(pd.Series(pairs)) == bm25.score(pairs)).all()
    with pytest.raises(mr.InputTypeError, match="queries is 5 of type int"):
        bm25.rank(5)
    with pytest.raises(mr.InputTypeError, match="a query is nan"):
        bm25.rank(pd.Series(["red", np.nan]))
    with pytest.raises(mr.InputTypeError, match="call .collect"):
        bm25.rank(pl.DataFrame({"query": texts}).lazy())
    with pytest.raises(mr.InputTypeError, match="call .collect"):
        mr.RankSVM().fit(pl.DataFrame({"a": [1.0]}).lazy(), [1])


@pytest.mark.parametrize("column", [CLICKS["query"], pl.Series(["a"]), CLICKS.groupby(["query", "sku"]).size().rename("clicks")])
def test_a_column_is_no_source(column, tmp_path):
    with pytest.raises(mr.InputTypeError, match="a source is a single column of type Series"):
        ingested(tmp_path, clicks=column)


def test_messages_speak_python(tmp_path):
    ingested(tmp_path)
    with pytest.raises(mr.Error, match=r"replace it with `replace=True`"):
        ingested(tmp_path)
    with pytest.raises(mr.Error, match=r'`columns=\{"query": "NAME"\}`'):
        ingested(tmp_path, "e", clicks=CLICKS.rename(columns={"query": "zzz"}))
    with pytest.raises(mr.Error, match=r"make one with `Dataset.ingest\(\.\.\.\)`"):
        (tmp_path / "empty").mkdir()
        mr.Dataset.open(tmp_path / "empty")
    for engine, python in [
        ("option `judgments validation=QRELS`", "`validation=QRELS`"),
        ("option `judgments` or option `split`", "`validation` or `test` or `split`"),
        ("option `split time`", '`split="time"`'),
        ("option `language NAME,NAME`", '`language=["NAME", "NAME"]`'),
        ("option `column a:b.csv:query=x`", '`columns={"a:b.csv": {"query": "x"}}`'),
        ("option `event-weights click=1,cart=2.5`", '`event_weights={"click": 1, "cart": 2.5}`'),
        ("option `date-format '%d.%m.%Y'`", '`date_format="%d.%m.%Y"`'),
        ("option `csv-escape`", "`csv_escape`"),
    ]:
        assert str(mr.Error(engine)) == python


def test_the_package_can_be_looked_through():
    code = """
import sys
for name in ("pyterrier", "ir_measures"):
    sys.modules[name] = None
import inspect, pydoc, matchrank as mr
assert "pyterrier" not in dir(mr) and "ir_measures" not in dir(mr) and "client" in dir(mr)
assert len(inspect.getmembers(mr)) > 30
pydoc.render_doc(mr)
try:
    mr.pyterrier
except AttributeError as error:
    assert "pyterrier" in str(error) and isinstance(error.__cause__, ImportError)
    print("fine")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "fine\n", done.stderr
    for wrong, right in (("BM25", "Bm25"), ("LambdaMART", "LambdaMart"), ("evalute", "evaluate")):
        with pytest.raises(AttributeError, match=f"did you mean {right}\\?"):
            getattr(mr, wrong)
    assert "did you mean" not in str(pytest.raises(AttributeError, lambda: mr.zebra).value)


def test_parts_tell_only_parameters_that_are_known(shop, tmp_path):
    both = mr.Stack({"latent": mr.Pls(d=12, tf="binary"), "words": mr.Bm25(k1=0.7)}, ranker="listnet", folds=2).fit(shop)
    assert repr(both.parts["latent"]) == "Pls(d=12, tf='binary')" and both.parts["words"].params["k1"] == 0.7
    both.save(tmp_path / "s.model")
    parts = mr.load(tmp_path / "s.model", shop).parts
    assert parts["latent"].params["d"] == 12 and "tf" not in parts["latent"].params
    assert parts["words"].params == {"k1": 0.7, "b": 0.75}
    part = mr.load(tmp_path / "s.model", shop).parts["latent"]
    assert "tf" in part.fit(shop).params and part.map_queries(["red"]).shape == (1, 12)


def test_explanations_add_up(shop, bm25, pls):
    stack = mr.Stack({"words": bm25, "latent": pls}, ranker="listnet", folds=2).fit(shop)
    best = stack.rank("red shoes", k=1)["document"][0]
    found = stack.explain("red shoes", best)
    assert sum(row["adds"] for row in found.rows) == pytest.approx(found.score, rel=1e-4)
    assert {"count", "attribute", "model"} <= {name for row in found.rows for name in row}
    pairs = pls.explain("red shoes", best)
    assert sum(row["score"] for row in pairs.rows) == pytest.approx(pairs.score, rel=1e-3)
    assert f"20 of {len(pairs.rows)} parts" in pairs._repr_html_() and "attribute" in found._repr_html_()


def test_tables_have_slices_and_a_shape(bm25):
    table = bm25.rank({"7": "red shoes"}, k=5)
    assert table.shape == (5, 4) and table[:3] == table.head(3) and table[1:3]["rank"].tolist() == [2, 3]
    assert table[-2:].columns == table.columns and len(table[9:]) == 0
    with pytest.raises(mr.ParameterError, match="step 1"):
        table[::2]
    with pytest.raises(mr.InputTypeError, match="slice of rows"):
        table[0]


def test_significance_takes_the_measure_that_all_have():
    qrels = {query: {"a": 1, "b": 1} for query in "qrstu"}
    good = {query: {"a": 2.0, "b": 1.0} for query in qrels}
    bad = {query: {"x": 2.0, "b": 1.0 + 2 * (query == "q")} for query in qrels}
    small = {"good": mr.evaluate(qrels, good, "map"), "bad": mr.evaluate(qrels, bad, "map")}
    mixed = {"good": mr.evaluate(qrels, good, ["mrr", "map"]), "bad": small["bad"]}
    for measure in ("map", None):
        assert mr.significance(mixed, measure) == mr.significance(small, "map")
    with pytest.raises(mr.ParameterError, match="no measure mrr in common; they have map"):
        mr.significance(mixed, "mrr")
    with pytest.raises(mr.ParameterError, match="no measure in common"):
        mr.significance({"a": small["good"], "b": mr.evaluate(qrels, bad, "mrr")})
    with pytest.raises(mr.ParameterError, match="different conventions"):
        mr.significance({"a": small["good"], "b": mr.evaluate(qrels, bad, "map", dialect="trec")})
    with pytest.raises(mr.ShapeError, match="different judged queries"):
        mr.significance({"a": small["good"], "b": mr.evaluate({"q": {"a": 1}}, bad, "map")})


def test_a_client_refuses_a_text_in_place_of_a_list(monkeypatch):
    client = mr.Client("http://127.0.0.1:9")
    with pytest.raises(mr.InputTypeError, match="a list of ids"):
        client.rank("batman", "2173065")
    sent = []
    monkeypatch.setattr(mr.Client, "_post", lambda self, path, body: sent.append(body["top"]))
    client.search("q", k=3), client.search("q", 4), client.search("q", top=5), client.search("q")
    assert sent == [3, 4, 5, 10] and "top" in inspect.signature(client.search).parameters
    with pytest.raises(mr.ParameterError, match="give one of them"):
        client.search("q", k=3, top=3)


def test_tuning_leaves_given_parameters_alone(shop, lists, valid_lists):
    tuned = mr.tune(mr.Bm25(k1=0.7), shop, trials=3)
    assert tuned.model.params["k1"] == 0.7 and {name for trial in tuned.trials for name in trial["settings"]} <= {"b", "k1"}
    assert all(trial["settings"].get("k1", 0.7) == 0.7 for trial in tuned.trials)
    assert {trial["settings"]["k1"] for trial in mr.tune(mr.Bm25(k1=0.7), shop, vary={"k1": [2.0, 3.0]}, strategy="grid").trials} >= {2.0, 3.0}
    with pytest.raises(mr.ParameterError, match="name what varies with `vary`"):
        mr.tune(mr.Bm25(k1=0.7, b=0.3), shop)
    ranker = mr.tune(mr.RankSVM(loss="hinge"), lists, validation=valid_lists, trials=2)
    assert ranker.model.loss == "hinge"
