"""Tuning, comparison, and scores of models as features."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from . import _html, _matchrank
from ._model import CompositeModel, MatchingModel, class_of
from ._values import PathLike, encoded, engine_name, path_text, plain
from .datasets import Dataset, as_dataset
from .errors import InputTypeError, ParameterError


class TunedModel:
    """Outcome of a search of parameters.

    Attributes:
        model: The model, trained with the best parameters.
        measure: Measure that settings were judged by.
        trials: Settings that were tried, each with its figure, in their order.
        best: The best trial.
        params: All parameters of the model.
    """

    __slots__ = ("best", "measure", "model", "params", "trials")

    def __init__(self, model: Any, data: dict[str, Any]) -> None:
        self.model = model
        self.measure: str = data["measure"]
        self.trials: list[dict[str, Any]] = data["trials"]
        self.best: dict[str, Any] = data["best"]
        self.params: dict[str, Any] = data["params"]

    def _rows(self) -> tuple[list[str], list[list[Any]]]:
        names = list(dict.fromkeys(name for trial in self.trials for name in trial["settings"]))
        header = [*names, "effort", self.measure, "seconds", "error"]
        rows = [
            [
                *(trial["settings"].get(name, "") for name in names),
                trial["share"],
                trial["validation"],
                trial["seconds"],
                trial.get("error") or "",
            ]
            for trial in self.trials
        ]
        return header, rows

    def to_pandas(self) -> Any:
        """The trials as a pandas ``DataFrame``."""
        import pandas

        header, rows = self._rows()
        return pandas.DataFrame(rows, columns=header)

    def __repr__(self) -> str:
        return f"TunedModel({self.best['settings']}: {self.measure} {self.best['validation']:.4f}, {len(self.trials)} trials)"

    def _repr_html_(self) -> str:
        return _html.table(*self._rows(), f"{self.model.kind}: {len(self.trials)} trials")


def tune(
    model: str | MatchingModel | Any,
    data: Any,
    *,
    validation: Any = None,
    vary: Mapping[str, Any] | None = None,
    trials: int = 20,
    strategy: str = "random",
    seconds: float | None = None,
    measure: str = "ndcg@10",
    candidates: str | None = None,
    trace: PathLike | None = None,
    seed: int | None = None,
) -> TunedModel:
    """Finds the parameters of a model that are best on the validation judgments, and trains it with them.

    Args:
        model: A model, whose given parameters are fixed unless ``vary`` names them, or the name of a kind: ``rmls``,
            ``lambdamart``, ...
        data: A dataset with validation judgments; for a ranker ``(X, y, qid)`` or lists of :func:`read_letor`.
        validation: Validation lists of a ranker, as ``data``.
        vary: Values to try by parameter: a list, or a range as a text, such as ``"0.1..4"``. Parameters that it does not
            name stay as they are. The default is what matters most for the model and is not given to it.
        trials: Settings that are tried, at most.
        strategy: ``random``, ``grid`` or ``halving``.
        seconds: Seconds after which no trial is begun.
        measure: Measure that settings are judged by.
        candidates: Documents that are ranked: ``judged`` or ``all``; the default is what suits the judgments.
        trace: File for the trials; trials that it has are not made again.
        seed: Seed of the search and of every training; the default is that of the model.
    """
    from ._ranker import RankerMixin

    axes = [(engine_name(name), _axis(values)) for name, values in (vary or {}).items()]
    arguments = {
        "vary": axes,
        "strategy": strategy,
        "trials": trials,
        "seconds": seconds,
        "measure": measure,
        "trace": None if trace is None else path_text(trace),
    }
    is_ranker = isinstance(model, RankerMixin)
    if isinstance(model, str):
        from ._kinds import tables

        is_ranker = any(kind["name"] == model for kind in tables()["rankers"])
    if is_ranker:
        return _tune_ranker(model, data, validation, arguments, seed)
    if validation is not None:
        raise ParameterError("validation is for rankers; a dataset has its own validation judgments")
    if isinstance(model, str):
        model = class_of(model)()
    if isinstance(model, CompositeModel) or not isinstance(model, MatchingModel):
        raise InputTypeError(
            f"an object of type {type(model).__name__} cannot be tuned; give a single model such as Rmls(), or the name of a kind"
        )
    dataset = as_dataset(data)
    text, native = _matchrank.tune(
        model.kind,
        model._settings(),
        dataset._native,
        encoded(arguments),
        model.seed if seed is None else seed,
        candidates,
    )
    return TunedModel(type(model)._of_native(native, dataset), json.loads(text))


def _tune_ranker(model: Any, data: Any, validation: Any, arguments: dict[str, Any], seed: int | None) -> TunedModel:
    from . import rankers
    from ._ranker import _find_library

    if isinstance(model, str):
        model = rankers.class_of(model)()
    _find_library()
    if validation is None:
        raise ParameterError("a ranker is tuned on validation lists; give validation=(X, y, qid)")
    lists, valid = (_native_lists(model, given, what) for given, what in ((data, "data"), (validation, "validation")))
    text, native = _matchrank.tune_ranker(
        model.kind,
        encoded(list(model._given().items())),
        lists,
        valid,
        encoded(arguments),
        model.seed if seed is None else seed,
        getattr(model, "scaling", None),
    )
    return TunedModel(rankers.of_native(native), json.loads(text))


def _native_lists(model: Any, given: Any, what: str) -> Any:
    from ._ranker import FeatureLists, _grades, _lists, _matrix, _queries

    X, y, qid = (given, None, None) if isinstance(given, FeatureLists) else _three(given, what)
    x = _matrix(X, what, model._kind["takes"]["missing"])
    return _lists(x, _grades(X, y, x), _queries(x, qid, None, None), None)


def _three(given: Any, what: str) -> tuple[Any, Any, Any]:
    if not isinstance(given, (tuple, list)) or len(given) != 3:
        raise InputTypeError(f"{what} of a ranker must be (X, y, qid), or lists that read_letor returned")
    return given[0], given[1], given[2]


def _axis(values: Any) -> str:
    if isinstance(values, str):
        return values
    if not hasattr(values, "__iter__"):
        raise InputTypeError(f"{values!r} is no list of values; give a list, or a range such as '0.1..4'")
    texts = [value if isinstance(value, str) else json.dumps(plain(value)) for value in values]
    if not texts:
        raise ParameterError("a parameter varies over an empty list; give at least one value")
    return ",".join(texts)


class Comparison:
    """Models side by side, as ``matchrank compare`` makes them.

    Attributes:
        path: Folder with the models, the runs and the results.
        data: The comparison as dictionaries and lists.
        advice: What the figures say about which model to deploy.
    """

    __slots__ = ("advice", "data", "path")

    def __init__(self, path: PathLike, text: str) -> None:
        found = json.loads(text)
        self.path = Path(path)
        self.data: dict[str, Any] = found["comparison"]
        self.advice: list[str] = found["advice"]

    @property
    def models(self) -> list[str]:
        """Names of the models."""
        return [row["name"] for row in self.data["models"]]

    @property
    def measures(self) -> list[str]:
        """Measures on the test queries; the first decides which model is better."""
        return self.data["split"]["measures"]

    @property
    def chosen(self) -> str | None:
        """The model that the validation queries choose."""
        chosen = self.data.get("chosen")
        return None if chosen is None else chosen["name"]

    @property
    def left_out(self) -> dict[str, str]:
        """Models that could not be trained or measured, and why."""
        return dict(self.data.get("left_out") or {})

    def model(self, name: str | None = None) -> MatchingModel:
        """Opens a model; without a name the one that the validation queries choose."""
        from .models import load

        name = self.chosen if name is None else name
        if name not in self.models:
            raise ParameterError(f"there is no model {name!r} in the comparison; there are {', '.join(self.models)}")
        folder = self.data["data"].get("folder")
        dataset = Dataset.open(folder) if folder and Path(folder).is_dir() else None
        return load(self.path / "models" / f"{name}.model", dataset)

    def report(self, path: PathLike | None = None, *, baseline: str | None = None) -> Path:
        """Writes the report, a page that needs nothing beside it. Returns its path.

        Args:
            path: HTML file; the default is ``report.html`` in the folder.
            baseline: Model that others are compared with first.
        """
        out = self.path / "report.html" if path is None else Path(path)
        _matchrank.report(str(self.path), str(out), None, baseline)
        return out

    def _rows(self) -> tuple[list[str], list[list[Any]]]:
        test = {name: f"test {name}" for name in self.measures}
        tuned_by = self.data["split"]["tuned_by"]
        header = ["model", f"validation {tuned_by}", *test.values(), "beats", "seconds", "ms per query", "MiB"]
        rows = [
            [
                row["name"],
                row["validation"].get(tuned_by),
                *(row["test"].get(name) for name in test),
                ", ".join(row["beats"]),
                row["seconds"],
                row["latency"]["p50_ms"],
                row["model_mib"],
            ]
            for row in self.data["models"]
        ]
        return header, rows

    def to_pandas(self) -> Any:
        """The table as a pandas ``DataFrame``, a row for each model."""
        import pandas

        header, rows = self._rows()
        return pandas.DataFrame(rows, columns=header).set_index("model")

    def __repr__(self) -> str:
        first = self.measures[0]
        figures = ", ".join(f"{row['name']} {row['test'][first]:.4f}" for row in self.data["models"])
        return f"Comparison({first}: {figures})"

    def _repr_html_(self) -> str:
        split = self.data["split"]
        caption = f"{self.data['data']['name']}: {split['test_queries']:,} test queries"
        notes = "".join(_html.note(line) for line in self.advice)
        return _html.table(*self._rows(), caption) + notes


def compare(
    dataset: Dataset | PathLike,
    models: Iterable[str] | Mapping[str, MatchingModel | str] = (),
    *,
    out: PathLike = "comparison",
    trials: int | None = None,
    strategy: str | None = None,
    seconds: float | None = None,
    minutes: float | None = None,
    measures: str | Sequence[str] | None = None,
    tuned_by: str | None = None,
    candidates: str | None = None,
    folds: int | None = None,
    significance: str | None = None,
    refit: Dataset | PathLike | None = None,
    seed: int = 1,
) -> Comparison:
    """Trains, tunes and measures models on a dataset, as ``matchrank compare`` does.

    Every model is tuned on the validation judgments and measured once on the test judgments. What was made is kept in
    ``out`` and made again only when something changed.

    Args:
        dataset: A dataset with judgments for validation and test.
        models: Names as on the command line (``bm25``, ``rmls+bm25``, ``stack``, ...), or models with their parameters by
            name; the default is a usual choice.
        out: Folder for models, results and runs.
        trials: Settings that are tried of every model, its defaults included; 1 for the defaults alone.
        strategy: ``halving``, ``random`` or ``grid``.
        seconds: Seconds for the tuning of every model.
        minutes: Minutes for the tuning of all models together.
        measures: Measures on the test queries; the first decides which model is better.
        tuned_by: Measure that models are tuned by.
        candidates: Documents that are ranked: ``judged`` or ``all``; the default is what suits the judgments.
        folds: Folds that the training and validation queries are dealt to; 0 for none.
        significance: Test of the differences: ``t``, ``sign``, ``fisher`` or ``wilcoxon``.
        refit: Dataset to train on again with the chosen settings.
        seed: Seed of everything random.
    """
    arguments = {
        "models": _planned(models),
        "trials": trials,
        "strategy": strategy,
        "seconds": seconds,
        "minutes": minutes,
        "measures": ",".join(measures) if measures is not None and not isinstance(measures, str) else measures,
        "tuned_by": tuned_by,
        "candidates": candidates,
        "folds": folds,
        "significance": significance,
    }
    own = as_dataset(dataset)
    again = None if refit is None else as_dataset(refit)._native
    return Comparison(out, _matchrank.compare(own._native, encoded(arguments), path_text(out), seed, again))


def _planned(models: Any) -> list[tuple[str, Any]]:
    if isinstance(models, str):
        models = [name.strip() for name in models.split(",")]
    pairs = models.items() if isinstance(models, Mapping) else ((None, model) for model in models)
    planned: list[tuple[str, Any]] = []
    for name, model in pairs:
        if isinstance(model, str):
            planned.append((model, None) if name is None else (name, (model, [])))
        elif isinstance(model, MatchingModel) and not isinstance(model, CompositeModel):
            planned.append((name or model.kind, (model.kind, list(model._given.items()))))
        else:
            raise InputTypeError(
                f"models has an object of type {type(model).__name__}; names, or single models with parameters, are expected"
            )
    return planned


def open_comparison(path: PathLike) -> Comparison:
    """Opens the folder of a comparison."""
    return Comparison(path, _matchrank.open_comparison(path_text(path)))


class FeatureMatrix:
    """Scores of models as features of the documents of judged queries.

    Attributes:
        X: Features, a NumPy matrix; NaN-free.
        y: Grades.
        qid: Query of each row.
        documents: Document of each row.
        names: Names of the columns.
    """

    def __init__(self, native: Any, names: list[str]) -> None:
        from ._ranker import FeatureLists

        lists = FeatureLists(native)
        self._lists = lists
        self.X, self.y, self.qid, self.documents, self.names = lists.X, lists.y, lists.qid, lists.documents, names

    def to_pandas(self) -> Any:
        """Query, document, grade and features as a pandas ``DataFrame``."""
        import pandas

        frame = pandas.DataFrame(self.X, columns=self.names)
        frame.insert(0, "query_id", self.qid)
        frame.insert(1, "document", self.documents)
        frame.insert(2, "grade", self.y)
        return frame

    def write(self, path: PathLike) -> None:
        """Writes a LETOR file."""
        self._lists._native.write(path_text(path))

    def __repr__(self) -> str:
        return f"FeatureMatrix({len(self.y):,} documents, {', '.join(self.names)})"


def features(
    dataset: Dataset | PathLike,
    of: Mapping[str, MatchingModel] | Iterable[MatchingModel],
    *,
    split: str = "validation",
    candidates: str | None = None,
    depth: int | None = None,
    clicks: bool = False,
    attributes: bool = False,
) -> FeatureMatrix:
    """Returns the scores of models as features, for rankers of your own.

    Args:
        dataset: A dataset with judgments.
        of: Trained models, in a list or by name.
        split: Judged queries: ``validation`` or ``test``.
        candidates: Documents of each query: ``judged``, or the ``best`` of each model; the default is what suits the
            judgments.
        depth: Best documents of each model, 100 by default.
        clicks: Adds counts of training clicks.
        attributes: Adds attributes of documents.
    """
    from ._model import _named

    own = as_dataset(dataset)
    parts = []
    for name, model in _named(of, "features").items():
        if not isinstance(model, MatchingModel):
            raise InputTypeError(f"{name} is no trained model; fit it first")
        parts.append((name, model._fitted()))
    native, names = _matchrank.features(own._native, parts, split, candidates, depth, clicks, attributes)
    return FeatureMatrix(native, names)
