"""What all rankers of feature lists share: the conventions of scikit-learn."""

from __future__ import annotations

import importlib.util
import inspect
import json
import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from . import _html, _matchrank, errors
from ._model import Description
from ._values import PathLike, encoded, engine_name, is_path, path_text, plain, python_name
from .errors import InputTypeError, NotFittedError, ParameterError, ShapeError

if TYPE_CHECKING:
    from typing import Self

    import numpy as np

#: Arguments of training that are no parameters of a ranker in the engine.
OWN = ("scaling", "eval_metric", "seed")


class FeatureLists:
    """Feature lists of LETOR / SVMlight files.

    Arrays are read-only; copy them to change them.

    Attributes:
        y: Grades.
        qid: Query of each row.
        documents: Document id of each row.
    """

    def __init__(self, native: Any) -> None:
        import numpy

        self._native = native
        self._dense: Any = None
        self.y = _read_only(native.labels())
        names, lengths = zip(*native.lists(), strict=True)
        self.qid = numpy.repeat(numpy.asarray(names, dtype=object), lengths)
        self.documents = native.documents()

    @property
    def X(self) -> np.ndarray:
        """Features, a dense matrix, made when it is first asked for."""
        if self._dense is None:
            self._dense = _read_only(self._native.dense())
        return self._dense

    def __repr__(self) -> str:
        queries, rows, features = self._native.shape()
        return f"FeatureLists({queries:,} queries, {rows:,} documents, {features:,} features)"


def _read_only(array: np.ndarray) -> np.ndarray:
    array.setflags(write=False)
    return array


def read_letor(*paths: PathLike) -> FeatureLists:
    """Reads feature lists from LETOR / SVMlight files, plain or compressed. Several files are read as one."""
    if not paths:
        raise ParameterError("there is no file; give at least one path")
    return FeatureLists(_matchrank.letor_lists([path_text(path) for path in paths]))


class RankerMixin:
    """Learns to rank from the features of each query's documents.

    Rankers follow the conventions of scikit-learn: parameters are arguments of the constructor, ``fit`` learns, and
    ``predict`` returns a score for each row. The rows of a query are named by ``qid``.
    """

    #: Name of the kind in files and on the command line.
    kind: ClassVar[str] = ""
    _kind: ClassVar[Mapping[str, Any]] = {}
    _estimator_type = "ranker"
    # The query of each row is metadata that goes wherever rows go.
    __metadata_request__fit = {"qid": True}
    __metadata_request__predict = {"qid": True}
    __metadata_request__score = {"qid": True}

    def _set(self, params: dict[str, Any]) -> None:
        known = self._defaults()
        for name, value in params.items():
            if python_name(name) not in known:
                names = ", ".join(known)
                raise TypeError(f"{type(self).__name__} has no parameter {name!r}; it has {names}")
        for name, default in known.items():
            setattr(self, name, params.get(name, params.get(engine_name(name), default)))

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        parameters = inspect.signature(cls.__init__).parameters.values()
        return {p.name: p.default for p in parameters if p.name != "self"}

    def _given(self) -> dict[str, Any]:
        """Parameters that differ from their defaults, as the engine calls them."""
        defaults = self._defaults()
        given = {}
        for name, default in defaults.items():
            value = getattr(self, name)
            if name in OWN or value is None:
                continue
            value = plain(value)
            if value != default or isinstance(value, bool) != isinstance(default, bool):
                given[engine_name(name)] = value
        return given

    def fit(
        self,
        X: Any,
        y: Any = None,
        qid: Any = None,
        *,
        group: Sequence[int] | None = None,
        group_id: Any = None,
        eval_set: Sequence[Any] | None = None,
        eval_qid: Sequence[Any] | None = None,
        eval_group: Sequence[Any] | None = None,
        eval_group_id: Sequence[Any] | None = None,
        sample_weight: Any = None,
        query_weight: Any = None,
        query_columns: Sequence[int] | None = None,
        query_features: PathLike | None = None,
    ) -> Self:
        """Learns from lists of documents with grades.

        Args:
            X: Features: a NumPy matrix, a data frame, a SciPy sparse matrix, or lists that :func:`read_letor` returned.
            y: Grade of each row, 0 or more; 0 is not relevant.
            qid: Query of each row, in any order; without queries all rows are one list.
            group: Numbers of rows of consecutive queries, in place of ``qid``.
            group_id: The same as ``qid``.
            eval_set: ``[(X, y)]``: lists that choose what is chosen by validation (lambda, epochs, trees, the scaling).
            eval_qid: ``[qid]`` of ``eval_set``.
            eval_group: ``[group]`` of ``eval_set``.
            eval_group_id: ``[group_id]`` of ``eval_set``.
            sample_weight: Weight of each row, for rankers that take weights of documents.
            query_weight: Weight of each query in the order of their first rows, or a dictionary of weights by query.
            query_columns: Columns that belong to queries, for query-dependent rankers.
            query_features: File of query features, for query-dependent rankers.
        """
        x = self._features(X, reset=True)
        names, order, lengths = _queries(x, qid, group, group_id)
        if sum(lengths) == 1:
            raise ParameterError("X has 1 sample (one row), so there is no order to learn; give the documents of queries")
        lists = _lists(x, _grades(X, y, x), (names, order, lengths), self._weights(sample_weight, x))
        validation = self._validation(eval_set, eval_qid, eval_group, eval_group_id, has_queries=len(names) > 1)
        scaling = getattr(self, "scaling", None)
        _find_library()
        if not isinstance(self.seed, int) or self.seed < 0:
            raise ParameterError(f"seed is {self.seed!r}; a whole number, 0 or more, is expected")
        self._native = _matchrank.train_ranker(
            self.kind,
            encoded(list(self._given().items())),
            lists,
            self.seed,
            scaling,
            validation,
            self.eval_metric,
            _query_weights(query_weight, names),
            None if query_columns is None else [int(column) for column in query_columns],
            _table(query_features),
        )
        self._learned()
        return self

    def _learned(self) -> None:
        """Sets what scikit-learn expects of a trained estimator."""
        self.n_features_in_ = self._native.n_features()
        importance = self._native.importance()
        for name in ("coef_", "feature_importances_"):
            self.__dict__.pop(name, None)
        if importance is not None:
            name = "coef_" if importance[0] == "weights" else "feature_importances_"
            setattr(self, name, importance[1])

    def _weights(self, weights: Any, x: Any) -> np.ndarray | None:
        if weights is None:
            return None
        weights = _numbers(weights, "sample_weight", x.shape[0])
        if (weights == 0).all():
            raise ParameterError("every sample weight is zero; at least one must be above 0")
        if not self._kind["takes"]["document_weights"]:
            # Equal weights say nothing.
            if (weights == weights[0]).all() and weights[0] > 0:
                return None
            raise ParameterError(
                f"{type(self).__name__} does not take weights of documents (sample_weight); use query_weight, or a ranker "
                "that does, such as LambdaMart"
            )
        return weights

    def _validation(self, eval_set: Any, qids: Any, groups: Any, group_ids: Any, *, has_queries: bool) -> Any:
        if eval_set is None:
            if any(given is not None for given in (qids, groups, group_ids)):
                raise ParameterError("queries of validation lists are given without eval_set; give both")
            return None
        if not isinstance(eval_set, (list, tuple)) or len(eval_set) != 1:
            raise ParameterError("eval_set must be a list of one validation set, as in [(X_valid, y_valid)]")
        pair = eval_set[0]
        X, y = (pair, None) if isinstance(pair, FeatureLists) else _two(pair)
        chosen = []
        for name, given in (("eval_qid", qids), ("eval_group", groups), ("eval_group_id", group_ids)):
            if given is not None and (not isinstance(given, (list, tuple)) or len(given) != 1):
                raise ParameterError(f"{name} must be a list with one entry for eval_set, as in [qid_valid]")
            chosen.append(None if given is None else given[0])
        if has_queries and not isinstance(pair, FeatureLists) and all(given is None for given in chosen):
            raise ParameterError(
                "X has queries and eval_set has none, so its rows would be one list; give eval_qid=[qid_valid], or eval_group"
            )
        x = self._features(X, reset=False, what="eval_set")
        return _lists(x, _grades(X, y, x), _queries(x, *chosen), None)

    def _features(self, X: Any, *, reset: bool, what: str = "X") -> Any:
        """Features as a matrix of numbers: dense, or sparse by rows."""
        return _matrix(X, what, self._kind["takes"]["missing"])

    def predict(
        self,
        X: Any,
        qid: Any = None,
        *,
        group: Sequence[int] | None = None,
        group_id: Any = None,
        query_features: PathLike | None = None,
    ) -> np.ndarray:
        """Returns a score for each row; within a query, a higher score is a better rank.

        Args:
            X: Features, as in :meth:`fit`.
            qid: Query of each row. Rankers whose features are scaled within lists, and query-dependent ones, need it; for
                others it does not matter.
            group: Numbers of rows of consecutive queries, in place of ``qid``.
            group_id: The same as ``qid``.
            query_features: File of query features, for query-dependent rankers that were trained with one.
        """
        import numpy

        native = self._fitted()
        x = self._features(X, reset=False)
        if qid is None and group is None and group_id is None and not isinstance(X, FeatureLists):
            self._require_queries()
        names, order, lengths = _queries(x, qid, group, group_id)
        lists = _lists(x, None, (names, order, lengths), None)
        scores = native.score(lists, _table(query_features))
        if order is None:
            return scores
        ordered = numpy.empty_like(scores)
        ordered[order] = scores
        return ordered

    def _require_queries(self) -> None:
        scaling = json.loads(self._native.settled()).get("scaling")
        if self._kind["takes"]["query_features"] or str(scaling).startswith("query_"):
            raise ParameterError(
                f"the scores of this {type(self).__name__} depend on the list that a row is in; give qid, or group"
            )

    def score(self, X: Any, y: Any = None, qid: Any = None, *, group: Any = None, group_id: Any = None) -> float:
        """Returns the mean NDCG@10, or that of ``eval_metric``, over the queries with a relevant document.

        Without queries all rows are ranked as one list; a ranker that was trained with queries warns about that.
        """
        from .evaluation import evaluate

        has_none = qid is None and group is None and group_id is None and not isinstance(X, FeatureLists)
        if has_none and (json.loads(self._fitted().provenance())["data"].get("lists") or 0) > 1:
            warnings.warn(
                f"this {type(self).__name__} was trained with queries, and score without qid ranks all rows as one list; give "
                "qid, or call sklearn.set_config(enable_metadata_routing=True) before GridSearchCV or cross_val_score",
                UserWarning,
                stacklevel=2,
            )
        scores = self.predict(X, qid, group=group, group_id=group_id)
        n = len(scores)
        grades = _grades(X, y, _Rows(n))
        names, order, lengths = _queries(X if isinstance(X, FeatureLists) else _Rows(n), qid, group, group_id)
        qrels: dict[str, dict[str, float]] = {}
        run: dict[str, dict[str, float]] = {}
        rows = iter(range(n) if order is None else order.tolist())
        for name, length in zip(names, lengths, strict=True):
            places = [next(rows) for _ in range(length)]
            qrels[name] = {str(place): float(grades[place]) for place in places}
            run[name] = {str(place): float(scores[place]) for place in places}
        result = evaluate(qrels, run, self.eval_metric)
        return result[result.measures[0]]

    def contributions(self, X: Any, row: int, qid: Any = None) -> tuple[float, np.ndarray]:
        """Explains the score of a row: a base, and what each feature adds to it.

        Linear rankers add weight times value to a base of 0. Trees have Shapley values over the list of the row, whose base
        is the mean score of the list.
        """
        import numpy

        native = self._fitted()
        x = self._features(X, reset=False)
        names, order, lengths = _queries(x, qid, None, None)
        place = row if order is None else int(numpy.flatnonzero(order == row)[0])
        return native.contributions(_lists(x, None, (names, order, lengths), None), place)

    def _fitted(self) -> Any:
        native = self.__dict__.get("_native")
        if native is None:
            raise _not_fitted()(f"this {type(self).__name__} is not trained yet; call fit(X, y, qid=...) first")
        return native

    def __sklearn_is_fitted__(self) -> bool:
        return self.__dict__.get("_native") is not None

    @property
    def best_params_(self) -> dict[str, Any]:
        """All parameters with what validation chose: lambda, epochs, the number of trees, the scaling."""
        return json.loads(self._fitted().settled())

    @property
    def best_score_(self) -> float | None:
        """Figure on the validation lists of what was kept; ``None`` without validation lists."""
        return self._fitted().validated()

    @property
    def course_(self) -> dict[str, Any]:
        """What training tried, as the rows of a table."""
        return json.loads(self._fitted().course(self.eval_metric))

    def inspect(self) -> Description:
        """Describes the ranker: parameters, sizes, the features that count most."""
        return Description(json.loads(self._fitted().describe()))

    @property
    def provenance(self) -> dict[str, Any]:
        """Version, seed and sizes of the data that the ranker was made with."""
        return json.loads(self._fitted().provenance())

    def save(self, path: PathLike) -> None:
        """Writes a model file, with the bytes that the command line would write."""
        self._fitted().save(path_text(path))

    def to_bytes(self) -> bytes:
        """The bytes of a model file."""
        return self._fitted().to_bytes()

    def __getstate__(self) -> dict[str, Any]:
        parent = getattr(super(), "__getstate__", None)
        state = dict(parent() if parent is not None else self.__dict__)
        if state.get("_native") is not None:
            state["_native"] = bytes(state["_native"].to_bytes())
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        if state.get("_native") is not None:
            state["_native"] = _matchrank.from_bytes(state["_native"])
        parent = getattr(super(), "__setstate__", None)
        if parent is not None:
            parent(state)
        else:
            self.__dict__.update(state)


class PlainEstimator:
    """Parameters as scikit-learn's estimators have them, for use without scikit-learn."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name."""
        return {name: getattr(self, name) for name in self._defaults()}  # type: ignore[attr-defined]

    def set_params(self, **params: Any) -> Self:
        """Sets parameters."""
        known = self._defaults()  # type: ignore[attr-defined]
        for name, value in params.items():
            if name not in known:
                raise ParameterError(f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(known)}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        known = self._defaults()  # type: ignore[attr-defined]
        given = [f"{name}={getattr(self, name)!r}" for name, value in known.items() if getattr(self, name) != value]
        return f"{type(self).__name__}({', '.join(given)})"

    def _repr_html_(self) -> str:
        return _html.facts(self.get_params().items(), type(self).__name__)


class _Rows:
    """Stands for a matrix of which the number of rows is all that matters."""

    def __init__(self, n: int) -> None:
        self.shape = (n, 0)


def _find_library() -> None:
    """Tells the engine where the package ``lightgbm`` has its library, which grows trees."""
    if "MATCHRANK_LIGHTGBM" in os.environ:
        return
    found = importlib.util.find_spec("lightgbm")
    for folder in (found.submodule_search_locations or []) if found is not None else []:
        names = ("lib_lightgbm.so", "lib_lightgbm.dylib", "lib_lightgbm.dll")
        for library in (Path(folder) / part / name for part in ("lib", "bin", "") for name in names):
            if library.is_file():
                os.environ["MATCHRANK_LIGHTGBM"] = str(library)
                return


def _not_fitted() -> type[NotFittedError]:
    """The exception of an untrained ranker; it is scikit-learn's, too, where that is installed."""
    try:
        from sklearn.exceptions import NotFittedError as Theirs
    except ImportError:
        return NotFittedError
    return _joined(Theirs)


def _joined(theirs: type[Exception]) -> type[NotFittedError]:
    found = _joined.__dict__.get("made")
    if found is None:
        body = {"__doc__": NotFittedError.__doc__, "__module__": errors.__name__}
        found = type("NotFittedError", (NotFittedError, theirs), body)
        _joined.made = found  # type: ignore[attr-defined]
    return found


def _two(pair: Any) -> tuple[Any, Any]:
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise ParameterError("eval_set must have pairs of features and grades, as in [(X_valid, y_valid)]")
    return pair[0], pair[1]


def _is_sparse(X: Any) -> bool:
    return hasattr(X, "tocsr") and hasattr(X, "nnz")


def _matrix(X: Any, what: str, takes_missing: bool) -> Any:
    import numpy

    if isinstance(X, FeatureLists):
        return X
    if type(X).__name__ == "LazyFrame":
        raise InputTypeError(f"{what} is a LazyFrame, which has no rows yet; call .collect() on it first")
    if is_path(X):
        raise InputTypeError(f"{what} is a text; read feature lists from a file with read_letor({str(X)!r})")
    if _is_sparse(X):
        matrix = X.tocsr()
        if matrix.dtype.kind == "c":
            raise ParameterError(f"Complex data not supported: {what} has complex numbers; features are real numbers")
        if matrix.dtype not in (numpy.float32, numpy.float64):
            matrix = matrix.astype(numpy.float64)
        if not matrix.has_canonical_format:
            matrix = matrix.copy()
            matrix.sum_duplicates()
        values = matrix.data
    else:
        matrix = X.to_numpy() if hasattr(X, "to_numpy") else X
        try:
            matrix = numpy.asarray(matrix)
            if matrix.dtype.kind == "c":
                raise ParameterError(f"Complex data not supported: {what} has complex numbers; features are real numbers")
            if matrix.dtype not in (numpy.float32, numpy.float64):
                matrix = matrix.astype(numpy.float64)
            # Fields of packed records do not lie at multiples of their size.
            if not matrix.flags.aligned or any(stride % matrix.itemsize for stride in matrix.strides):
                matrix = matrix.copy()
        except (TypeError, ValueError) as error:
            if isinstance(error, ParameterError):
                raise
            raise _like(error)(
                f"{what} cannot be read as numbers ({error}); a matrix of numbers is expected: convert or drop columns of text"
            ) from error
        values = matrix
    if matrix.ndim != 2:
        raise ShapeError(
            f"Expected 2D array, got {matrix.ndim}D array instead: {what} must have a row for each document and a column for "
            "each feature. Reshape your data either using array.reshape(-1, 1) if your data has a single feature or "
            "array.reshape(1, -1) if it contains a single sample."
        )
    n_rows, n_features = matrix.shape
    if n_rows == 0:
        raise ShapeError(
            f"Found array with 0 sample(s) (shape={matrix.shape}) while a minimum of 1 is required: {what} has no row"
        )
    if n_features == 0:
        raise ShapeError(
            f"Found array with 0 feature(s) (shape={matrix.shape}) while a minimum of 1 is required: {what} has no column"
        )
    if numpy.isinf(values).any():
        raise ParameterError(f"Input {what} contains infinity or a value too large: features are finite numbers (inf)")
    if not takes_missing and numpy.isnan(values).any():
        raise ParameterError(
            f"Input {what} contains NaN, a missing value, which this ranker does not support: write a number (0, or the mean "
            "of the feature), or use Mart or LambdaMart"
        )
    return matrix


def _like(error: Exception) -> type[errors.Error]:
    return InputTypeError if isinstance(error, TypeError) else ParameterError


def _numbers(values: Any, what: str, n: int) -> np.ndarray:
    import numpy

    values = values.to_numpy() if hasattr(values, "to_numpy") else values
    try:
        array = numpy.asarray(values)
        if array.dtype.kind == "c":
            raise ParameterError(f"Complex data not supported: {what} has complex numbers")
        array = array.astype(numpy.float64)
    except (TypeError, ValueError) as error:
        if isinstance(error, ParameterError):
            raise
        raise _like(error)(f"{what} cannot be read as numbers ({error}); a number for each row is expected") from error
    if array.ndim == 2 and array.shape[1] == 1:
        _column_vector()
        array = array.ravel()
    if array.ndim != 1:
        raise ShapeError(f"{what} has {array.ndim} dimensions; one number for each row is expected")
    if len(array) != n:
        raise ShapeError(
            f"Found input variables with inconsistent numbers of samples: {what} has {len(array)} and X has {n} rows; one "
            "number for each row is expected"
        )
    if not numpy.isfinite(array).all():
        row = int(numpy.flatnonzero(~numpy.isfinite(array))[0])
        raise ParameterError(
            f"Input {what} contains NaN, infinity or a value too large in row {row}; finite numbers are expected (inf)"
        )
    return array


def _column_vector() -> None:
    try:
        from sklearn.exceptions import DataConversionWarning as Kind
    except ImportError:
        Kind = UserWarning
    warnings.warn(
        "A column-vector y was passed when a 1d array was expected. Please change the shape of y to (n_samples,)",
        Kind,
        stacklevel=5,
    )


def _grades(X: Any, y: Any, x: Any) -> np.ndarray | None:
    if isinstance(X, FeatureLists):
        return X.y if y is None else _numbers(y, "y", len(X.y))
    if y is None:
        raise ParameterError(
            "requires y to be passed, but the target y is None: give a grade for each row, 0 for not relevant"
        )
    grades = _numbers(y, "y", x.shape[0])
    if (grades < 0).any():
        import numpy

        row = int(numpy.flatnonzero(grades < 0)[0])
        raise ParameterError(f"y has the grade {grades[row]:g} in row {row}; grades are numbers of at least 0")
    return grades


def _queries(x: Any, qid: Any, group: Any, group_id: Any) -> tuple[list[str], np.ndarray | None, list[int]]:
    """Queries in the order of their first rows, the order that puts their rows together (``None`` if they are together
    already), and the numbers of their rows."""
    import numpy

    given = [name for name, value in (("qid", qid), ("group", group), ("group_id", group_id)) if value is not None]
    if len(given) > 1:
        raise ParameterError(f"{' and '.join(given)} are given; give one of them")
    if isinstance(x, FeatureLists):
        if not given:
            names, lengths = zip(*x._native.lists(), strict=True)
            return list(names), None, list(lengths)
        n = len(x.y)
    else:
        n = x.shape[0]
    if group is not None:
        numbers = numpy.asarray(group).ravel()
        if numbers.dtype.kind not in "iuf" or not (numpy.isfinite(numbers) & (numbers == numpy.floor(numbers))).all():
            raise ParameterError("group has something other than whole numbers; the number of rows of each query is expected")
        lengths = [int(length) for length in numbers]
        if sum(lengths) != n or min(lengths, default=0) < 1:
            raise ShapeError(
                f"group has {len(lengths)} numbers of rows that sum to {sum(lengths)}; X has {n} rows, and every query has at "
                "least one"
            )
        return [str(number + 1) for number in range(len(lengths))], None, lengths
    ids = qid if qid is not None else group_id
    if ids is None:
        return ["1"], None, [n]
    ids = ids.to_numpy() if hasattr(ids, "to_numpy") else ids
    ids = numpy.asarray(ids)
    if ids.ndim != 1 or len(ids) != n:
        raise ShapeError(f"qid has the shape {ids.shape}; X has {n} rows, and a query for each is expected")
    if ids.dtype.kind == "f":
        if not numpy.isfinite(ids).all():
            raise ParameterError("qid has NaN or infinity; every row needs a query")
        if (ids == numpy.floor(ids)).all():
            ids = ids.astype(numpy.int64)
    if ids.dtype.kind == "O" and any(value is None or value != value for value in ids):
        raise ParameterError("qid has a missing value; every row needs a query")
    starts = numpy.flatnonzero(numpy.concatenate([[True], ids[1:] != ids[:-1]]))
    names = [str(name) for name in ids[starts]]
    lengths = numpy.diff(numpy.append(starts, n))
    if len(set(names)) == len(names):
        return names, None, lengths.tolist()
    first: dict[str, int] = {}
    for name in names:
        first.setdefault(name, len(first))
    number = numpy.repeat([first[name] for name in names], lengths)
    order = numpy.argsort(number, kind="stable")
    return list(first), order, numpy.bincount(number).tolist()


def _lists(x: Any, y: Any, queries: tuple[list[str], Any, list[int]], weights: Any) -> Any:
    import numpy

    names, order, lengths = queries
    lists = list(zip(names, lengths, strict=True))
    if isinstance(x, FeatureLists):
        if order is None and (y is None or y is x.y) and weights is None and lists == x._native.lists():
            return x._native
        x = x.X
    if y is not None:
        y = numpy.asarray(y, dtype=numpy.float64)
    if order is not None:
        x = x[order]
        y = None if y is None else y[order]
        weights = None if weights is None else weights[order]
    if _is_sparse(x):
        parts = (_whole(x.indptr), _whole(x.indices), x.data)
        return _matchrank.sparse_lists(parts, x.shape[1], lists, y, weights)
    return _matchrank.dense_lists(x, lists, y, weights)


def _whole(values: Any) -> Any:
    import numpy

    return values if values.dtype in (numpy.int32, numpy.int64) else values.astype(numpy.int64)


def _query_weights(weights: Any, names: list[str]) -> list[float] | None:
    if weights is None:
        return None
    if isinstance(weights, Mapping):
        by_name = {str(name): float(weight) for name, weight in weights.items()}
        return [by_name.get(name, 1.0) for name in names]
    found = [float(weight) for weight in weights]
    if len(found) != len(names):
        raise ShapeError(f"query_weight has {len(found)} weights; there are {len(names)} queries")
    if any(not weight >= 0.0 or weight == float("inf") for weight in found):
        raise ParameterError("query_weight has a weight that is negative or not finite; weights are 0 or more")
    return found


def _table(path: PathLike | None) -> tuple[str, str] | None:
    if path is None:
        return None
    name = path_text(path)
    try:
        with open(name, encoding="utf-8") as file:
            return name, file.read()
    except FileNotFoundError as error:
        raise errors.MissingFileError(f"{name}: there is no such file; check the name", file=name) from error

