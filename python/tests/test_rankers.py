"""Rankers by the conventions of scikit-learn."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys
import unittest
import warnings

import matchrank as mr
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import sklearn
from conftest import made_lists
from matchrank._values import python_name
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

LINEAR = ["RankSVM", "ListNet", "Slam", "Perceptron", "Ridge"]
CLASSES = [cls for cls in mr.rankers.CLASSES.values() if cls.__name__ in LINEAR]


def fitted_or_skipped(ranker, *args, **more):
    try:
        return ranker.fit(*args, **more)
    except mr.Error as error:
        if "LightGBM" in str(error):
            pytest.skip("LightGBM is not there")
        raise


def test_every_kind_has_a_class_with_its_defaults():
    for kind, cls in mr.rankers.CLASSES.items():
        assert getattr(mr, cls.__name__) is cls and cls.kind == kind
        parameters = inspect.signature(cls).parameters
        for parameter in cls._kind["parameters"]:
            name = python_name(parameter["name"])
            assert name in parameters and name in cls.__doc__
        assert cls().get_params().keys() == parameters.keys()


@pytest.mark.parametrize("cls", mr.rankers.CLASSES.values(), ids=mr.rankers.CLASSES)
def test_a_ranker_learns_and_predicts(cls, lists, valid_lists):
    x, y, qid = lists
    vx, vy, vq = valid_lists
    more = {"weights": "uniform"} if cls.kind == "query-dependent" else {}
    ranker = fitted_or_skipped(cls(**more), x, y, qid, eval_set=[(vx, vy)], eval_qid=[vq])
    scores = ranker.predict(vx, qid=vq)
    assert scores.shape == (len(vx),) and scores.dtype == np.float64
    figure = ranker.score(vx, vy, qid=vq)
    assert figure > 0.8 and ranker.best_score_ == pytest.approx(figure, abs=0.02)
    assert set(ranker.best_params_) and ranker.n_features_in_ == 6
    assert ranker.course_["rows"] or cls.kind == "query-dependent"
    again = pickle.loads(pickle.dumps(ranker))
    assert (again.predict(vx, qid=vq) == scores).all() and again.get_params() == ranker.get_params()
    assert not clone(ranker).__sklearn_is_fitted__()
    assert ranker.inspect()["kind"] == cls.kind


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_linear_rankers_add_up(cls, lists):
    x, y, qid = lists
    ranker = cls().fit(x, y, qid)
    base, adds = ranker.contributions(x, 3, qid)
    assert base + adds.sum() == pytest.approx(ranker.predict(x)[3], rel=1e-6)
    assert ranker.coef_.shape == (6,) and abs(ranker.coef_[0]) == abs(ranker.coef_).max()


def test_queries_come_in_any_order_and_form(lists):
    x, y, qid = lists
    expected = mr.RankSVM().fit(x, y, qid)
    lengths = np.unique(qid, return_counts=True)[1]
    for more in ({"group": lengths}, {"group_id": qid}, {"qid": pd.Series(qid)}, {"qid": qid.astype(float)},
                 {"qid": [f"q{i}" for i in qid]}):
        assert mr.RankSVM().fit(x, y, **more).coef_ == pytest.approx(expected.coef_, rel=1e-12)
    order = np.random.default_rng(5).permutation(len(x))
    mixed = mr.RankSVM().fit(x[order], y[order], qid=qid[order])
    assert mixed.coef_ == pytest.approx(expected.coef_, rel=1e-3)
    per_query = mr.RankSVM(scaling="query_min_max").fit(x, y, qid)
    scores = per_query.predict(x, qid)
    assert per_query.predict(x[order], qid[order]) == pytest.approx(scores[order], rel=1e-9)
    with pytest.raises(mr.ParameterError, match="depend on the list"):
        per_query.predict(x)


def test_sparse_matrices_and_frames_are_the_same_lists(lists):
    x, y, qid = lists
    x = np.where(np.abs(x) < 1.0, 0.0, x)
    dense = mr.RankSVM().fit(x, y, qid)
    for other in (scipy.sparse.csr_matrix(x), scipy.sparse.csc_array(x), scipy.sparse.coo_matrix(x.astype(np.float64))):
        assert mr.RankSVM().fit(other, y, qid).to_bytes() == dense.to_bytes()
        assert (dense.predict(other) == dense.predict(x)).all()
    frame = pd.DataFrame(x, columns=list("abcdef"))
    assert mr.RankSVM().fit(frame, pd.Series(y), pd.Series(qid)).to_bytes() == dense.to_bytes()
    unsorted = scipy.sparse.csr_matrix(x)
    unsorted.indices[:2], unsorted.data[:2] = unsorted.indices[:2][::-1].copy(), unsorted.data[:2][::-1].copy()
    unsorted.has_sorted_indices = unsorted.has_canonical_format = False
    if unsorted.indptr[1] >= 2:
        assert mr.RankSVM().fit(unsorted, y, qid).to_bytes() == dense.to_bytes()


def test_integers_and_columns_in_any_memory_order(lists):
    x, y, qid = lists
    whole = np.round(x * 4)
    expected = mr.Ridge().fit(whole, y, qid).to_bytes()
    for other in (whole.astype(int), np.asfortranarray(whole), whole[:, ::-1][:, ::-1], whole.tolist()):
        assert mr.Ridge().fit(other, y.astype(int), qid).to_bytes() == expected


def test_missing_values_are_for_trees(lists):
    x, y, qid = lists
    x = x.copy()
    x[::7, 2] = np.nan
    ranker = fitted_or_skipped(mr.LambdaMart(trees=10), x, y, qid)
    assert np.isfinite(ranker.predict(x)).all() and ranker.feature_importances_.shape == (6,)
    with pytest.raises(mr.ParameterError, match="NaN.*use Mart or LambdaMart"):
        mr.RankSVM().fit(x, y, qid)


def test_weights(lists):
    x, y, qid = lists
    n = len(np.unique(qid))
    plain = mr.RankSVM().fit(x, y, qid)
    weights = np.linspace(0.1, 3, n)
    assert mr.RankSVM().fit(x, y, qid, query_weight=weights).to_bytes() != plain.to_bytes()
    assert mr.RankSVM().fit(x, y, qid, query_weight={}).coef_ == pytest.approx(plain.coef_, rel=1e-9)
    assert mr.RankSVM().fit(x, y, qid, sample_weight=np.full(len(x), 2.0)).to_bytes() == plain.to_bytes()
    with pytest.raises(mr.ParameterError, match="does not take weights of documents"):
        mr.RankSVM().fit(x, y, qid, sample_weight=np.arange(len(x)))
    with pytest.raises(mr.ShapeError, match="3 weights; there are"):
        mr.RankSVM().fit(x, y, qid, query_weight=[1, 2, 3])
    fitted_or_skipped(mr.Mart(trees=5), x, y, qid, sample_weight=np.arange(len(x)) + 1.0)


def test_grid_search_with_queries_as_metadata(lists):
    x, y, qid = lists
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(mr.RankSVM(), {"lambda_": [1e-3, 10.0], "loss": ["squared_hinge", "hinge"]}, cv=GroupKFold(3))
        search.fit(x, y, qid=qid, groups=qid)
        assert search.best_params_["lambda_"] in (1e-3, 10.0)
        folds = [search.cv_results_[f"split{i}_test_score"] for i in range(3)]
        assert np.isfinite(folds).all() and search.best_score_ > 0.8
        # The figures are those of fits by hand on the same folds.
        best = mr.RankSVM(**search.best_params_)
        train, test = next(GroupKFold(3).split(x, y, qid))
        figure = best.fit(x[train], y[train], qid[train]).score(x[test], y[test], qid[test])
        assert figure == pytest.approx(folds[0][search.best_index_])
        assert (search.predict(x) == search.best_estimator_.predict(x)).all()


def test_pipelines_route_queries(lists):
    x, y, qid = lists
    with sklearn.config_context(enable_metadata_routing=True):
        pipe = make_pipeline(StandardScaler(), mr.ListNet(scaling="none")).fit(x, y, qid=qid)
        scaled = StandardScaler().fit_transform(x)
        expected = mr.ListNet(scaling="none").fit(scaled, y, qid).predict(scaled)
        assert pipe.predict(x) == pytest.approx(expected)


def test_parameters(lists):
    ranker = mr.RankSVM(lambda_=0.5)
    assert ranker.set_params(loss="hinge").get_params()["loss"] == "hinge"
    assert clone(ranker).get_params() == ranker.get_params() and "lambda_=0.5" in repr(ranker)
    assert not is_classifier(ranker) and not is_regressor(ranker)
    with pytest.raises(TypeError, match="no parameter 'zebra'"):
        mr.RankSVM(zebra=1)
    with pytest.raises(mr.ParameterError, match="one of hinge, squared_hinge"):
        mr.RankSVM(loss="zebra").fit(*lists)
    with pytest.raises(NotFittedError, match="not trained yet"):
        mr.RankSVM().predict(lists[0])
    with pytest.raises(mr.NotFittedError):
        mr.RankSVM().predict(lists[0])


def test_files_hold_rankers(lists, tmp_path):
    x, y, qid = lists
    ranker = mr.ListNet(lambda_=0.1).fit(x, y, qid)
    ranker.save(tmp_path / "r.model")
    loaded = mr.load(tmp_path / "r.model")
    assert type(loaded) is mr.ListNet and (loaded.predict(x) == ranker.predict(x)).all() and loaded.lambda_ == 0.1
    definition = mr.export.elasticsearch(loaded, tmp_path / "m.json", features=list("abcdef"))
    assert "model" in definition and (tmp_path / "m.json").exists()


def test_tuning_of_a_ranker(lists, valid_lists):
    tuned = mr.tune("ranksvm", lists, validation=valid_lists, vary={"loss": ["squared_hinge", "hinge"]}, strategy="grid")
    assert {trial["settings"].get("loss") for trial in tuned.trials} >= {"hinge"}
    assert tuned.model.predict(lists[0]).shape == (len(lists[0]),)
    with pytest.raises(mr.ParameterError, match="tuned on validation lists"):
        mr.tune("ranksvm", lists)


def test_without_scikit_learn_rankers_work_all_the_same():
    code = """
import sys
sys.modules["sklearn"] = sys.modules["sklearn.base"] = sys.modules["sklearn.utils"] = None
import numpy as np, matchrank as mr, pickle
x = np.random.default_rng(1).normal(size=(40, 3)); y = (x[:, 0] > 0).astype(int); qid = np.repeat(np.arange(8), 5)
ranker = mr.RankSVM(lambda_=0.1).fit(x, y, qid)
assert ranker.get_params()["lambda_"] == 0.1 and ranker.set_params(seed=2).seed == 2
assert (pickle.loads(pickle.dumps(ranker)).predict(x) == ranker.predict(x)).all() and "0.1" in repr(ranker)
try:
    mr.RankSVM().predict(x)
except mr.NotFittedError:
    print("fine")
"""
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "fine\n"


#: Checks of scikit-learn that do not apply, with the reasons.
SKIPPED = {
    "check_sample_weight_equivalence_on_dense_data": "linear rankers take weights of queries, not of rows",
    "check_sample_weight_equivalence_on_sparse_data": "linear rankers take weights of queries, not of rows",
    "check_methods_sample_order_invariance": "features may be scaled within lists, and rows without qid are one list",
    "check_methods_subset_invariance": "features may be scaled within lists, and rows without qid are one list",
}


#: The same for rankers that take no weights of rows, which they refuse with a message.
OF_ROW_WEIGHTS = ("check_sample_weights_not_overwritten",)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_the_checks_of_scikit_learn(cls):
    failed, n = [], 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for estimator, check in estimator_checks_generator(cls()):
            name = getattr(check, "func", check).__name__
            if name in SKIPPED or (name in OF_ROW_WEIGHTS and not cls._kind["takes"]["document_weights"]):
                continue
            try:
                check(estimator)
                n += 1
            except unittest.SkipTest:
                pass
            except Exception as error:
                failed.append(f"{name}: {type(error).__name__}: {error}")
    assert not failed, "\n".join(failed)
    assert n > 25


def test_figures_of_ranks_do_not_depend_on_numbering():
    x, y, qid = made_lists(20, 4)
    ranker = mr.Ridge().fit(x, y, qid)
    assert ranker.score(x, y, qid) == pytest.approx(ranker.score(x, y, 1000 - qid), abs=1e-9)
