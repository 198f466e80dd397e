"""What all matching models share."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from . import _html, _matchrank
from ._values import (
    PathLike,
    as_columns,
    encoded,
    engine_name,
    is_path,
    is_table,
    named_queries,
    path_text,
    plain,
    queries_of,
)
from .datasets import Dataset, as_dataset
from .errors import InputTypeError, NotFittedError, ParameterError
from .tables import Table

if TYPE_CHECKING:
    from typing import Self

    import numpy as np


class MatchingModel:
    """Matches the texts of queries with documents.

    Parameters are given by name; those that are not given have the defaults of the command line.
    """

    #: Name of the kind in files and on the command line.
    kind: ClassVar[str] = ""
    _kind: ClassVar[Mapping[str, Any]] = {}

    _native: Any
    _dataset: Dataset | None
    _bound: Any

    def _begin(self, settings: dict[str, Any]) -> None:
        self.seed = settings.pop("seed", 1)
        self._given = {engine_name(name): plain(value) for name, value in settings.items()}
        self._native = self._dataset = self._bound = None
        self._check()

    def _check(self) -> None:
        unknown = [name for name in self._given if name not in self._kind["defaults"]]
        if unknown:
            known = ", ".join(self._kind["defaults"])
            raise ParameterError(f"{unknown[0]}: {type(self).__name__} has no such parameter; it has {known}, seed")
        if not isinstance(self.seed, int) or self.seed < 0:
            raise ParameterError(f"seed is {self.seed!r}; a whole number, 0 or more, is expected")
        self._validate()

    def _validate(self) -> None:
        _matchrank.recipe_params(self.kind, self._settings())

    def _settings(self) -> str:
        return encoded(list(self._given.items()))

    @property
    def params(self) -> dict[str, Any]:
        """All parameters by name, with their defaults where they are not given.

        A part of a model that was loaded has those that its file tells.
        """
        return dict(self._given) if self.__dict__.get("_is_partly_known") else {**self._kind["defaults"], **self._given}

    def fit(self, dataset: Dataset | PathLike) -> Self:
        """Trains the model on the training pairs of a dataset. Test judgments are not looked at."""
        dataset = as_dataset(dataset)
        self._native = self._train(dataset)
        self._dataset, self._bound, self._is_partly_known = dataset, None, False
        return self

    def _train(self, dataset: Dataset) -> Any:
        return _matchrank.train(self.kind, self._settings(), dataset._native, self.seed)

    def _unfitted(self) -> Self:
        """A model of the same parameters that is not trained."""
        return type(self)(seed=self.seed, **self._given)

    @classmethod
    def _of_native(cls, native: Any, dataset: Dataset | None) -> Self:
        model = cls.__new__(cls)
        provenance = json.loads(native.provenance())
        made_by = provenance.get("made_by") or {}
        known = cls._kind["defaults"]
        model.seed = provenance.get("seed") or 1
        model._given = {name: value for name, value in made_by.get("settings", []) if name in known}
        if "settings" not in made_by and not cls._kind["is_made_of_others"]:
            # The parts of a file are without the settings of their training; some have their parameters.
            told = json.loads(native.describe())["details"].get("params")
            model._given = {name: value for name, value in (told or {}).items() if name in known}
            model._is_partly_known = True
        model._native, model._dataset, model._bound = native, dataset, None
        return model

    @property
    def is_fitted(self) -> bool:
        """True once the model is trained, or if it was loaded."""
        return self._native is not None

    def _fitted(self) -> Any:
        if self._native is None:
            raise NotFittedError(f"this {type(self).__name__} is not trained yet; call fit(dataset) first")
        return self._native

    @property
    def dataset(self) -> Dataset | None:
        """The dataset whose documents are ranked."""
        return self._dataset

    def bind(self, dataset: Dataset | PathLike) -> Self:
        """Ranks the documents of a dataset from now on. Models that were loaded know their documents only after this."""
        self._dataset, self._bound = as_dataset(dataset), None
        return self

    def _matcher(self, dataset: Dataset | PathLike | None) -> Any:
        native = self._fitted()
        if dataset is not None:
            return self._bound_to(native, as_dataset(dataset))
        if self._dataset is None:
            raise ParameterError(
                "the model was loaded without a dataset, so there are no documents; give `dataset`, or call bind(dataset)"
            )
        if self._bound is None:
            self._bound = native.bind(self._dataset._native)
        return self._bound

    def _bound_to(self, native: Any, dataset: Dataset) -> Any:
        """The model over the documents of a dataset, which stays beside its own; the last one is kept."""
        if self._dataset is not None and dataset.path == self._dataset.path and dataset == self._dataset:
            return self._matcher(None)
        kept = self.__dict__.get("_beside")
        if kept is not None and kept[0] is native and kept[1].path == dataset.path and kept[1] == dataset:
            return kept[2]
        bound = native.bind(dataset._native)
        self._beside = (native, dataset, bound)
        return bound

    def rank(
        self,
        queries: str | Iterable[str] | Mapping[str, str] | Any,
        k: int = 10,
        *,
        dataset: Dataset | PathLike | None = None,
    ) -> Table:
        """Returns the ``k`` best documents for each query: ``query``, ``document``, ``rank`` (from 1) and ``score``.

        The first column is ``query``, the text; where the queries have ids it is ``query_id`` instead.

        Args:
            queries: Texts, pairs of id and text, a dictionary of texts by id, or a data frame with the columns
                ``query_id`` (or ``qid``) and ``query`` (or ``text``), or with ``query`` alone.
            k: Documents per query, at most. Documents that the model says nothing about are left out.
            dataset: Documents to rank; the default is the dataset of the training.
        """
        if not isinstance(k, int) or isinstance(k, bool) or k < 1:
            raise ParameterError(f"k is {k!r}; a whole number of at least 1 is expected")
        pairs, has_ids = named_queries(queries)
        found = self._matcher(dataset).rank(pairs, k)
        return Table(found, {"query": "query_id"} if has_ids else {})

    def score(
        self, pairs: Iterable[tuple[str, str]] | Any, *, dataset: Dataset | PathLike | None = None
    ) -> np.ndarray:
        """Returns a score for each pair of the text of a query and the id of a document, in their order.

        The documents of a query are scored together, because combinations and stacks standardise scores over them. A
        document that the model says nothing about has the score 0.

        Args:
            pairs: Pairs, or a data frame with the columns ``query`` and ``document`` (or ``docno``).
            dataset: Documents to score; the default is the dataset of the training.
        """
        import numpy

        if is_table(pairs):
            named = (("query", "text"), ("document", "docno", "doc_id", "docid"))
            flat = list(zip(*as_columns(pairs, "pairs", named), strict=True))
        else:
            flat = [_pair(pair) for pair in pairs]
        lists: dict[str, list[int]] = {}
        for place, (query, _) in enumerate(flat):
            lists.setdefault(query, []).append(place)
        if not lists:
            raise ParameterError("there is no pair; give at least one (query, document)")
        documents = [[flat[place][1] for place in places] for places in lists.values()]
        found = self._matcher(dataset).score(list(lists), documents)
        scores = numpy.empty(len(flat), dtype=numpy.float32)
        scores[numpy.concatenate([numpy.asarray(places) for places in lists.values()])] = found
        return scores

    def explain(
        self, query: str, document: str, *, dataset: Dataset | PathLike | None = None
    ) -> Explanation:
        """Explains the score of a document for a query."""
        if not isinstance(query, str) or not query.strip():
            raise ParameterError("the query is empty; give the text of a query")
        found = self._matcher(dataset).explain(query, str(document))
        return Explanation(self.kind, query, str(document), json.loads(found))

    def related(
        self, words: str, k: int = 20, *, min_documents: int = 3, reverse: bool = False
    ) -> Table:
        """Returns document words that go with query words, the strongest first.

        Args:
            words: One word or several.
            k: Words to return, at most.
            min_documents: Leaves out words of fewer documents, about which little is known.
            reverse: Asks for query words that go with document words.
        """
        rows, _, _ = self._fitted().related(words, k, min_documents, reverse)
        return Table(rows)

    def inspect(self) -> Description:
        """Describes the model: sizes, norms, spectrum, what training reported."""
        return Description(json.loads(self._fitted().describe()))

    @property
    def chosen(self) -> dict[str, Any]:
        """Settings that training chose on the validation judgments."""
        return json.loads(self._fitted().chosen())

    @property
    def provenance(self) -> dict[str, Any]:
        """Version, seed, data and settings that the model was made with."""
        return json.loads(self._fitted().provenance())

    def validation(self) -> float | None:
        """NDCG@10 on the validation judgments of the dataset; ``None`` without such judgments."""
        if self._dataset is None:
            raise ParameterError("the model was loaded without a dataset; call bind(dataset) first")
        return self._fitted().validation(self._dataset._native, self.seed)

    def map_queries(self, queries: Sequence[str], *, dataset: Dataset | PathLike | None = None) -> np.ndarray:
        """Returns the latent vectors of queries, one row each; for latent models such as RMLS and PLS.

        The dot product of the vectors of a query and a document is their score, apart from biases and words that count by
        themselves. Clicks on a query count where the dataset has them.
        """
        native = self._fitted()
        own = self._dataset if dataset is None else as_dataset(dataset)
        texts = [text for _, text in queries_of(queries)]
        return native.map_queries(texts, None if own is None else own._native)

    def map_documents(self, *, dataset: Dataset | PathLike | None = None) -> np.ndarray:
        """Returns the latent vectors of all documents of the dataset, one row each, in the order of
        :meth:`Dataset.documents`."""
        native = self._fitted()
        own = self._dataset if dataset is None else as_dataset(dataset)
        if own is None:
            raise ParameterError("the model was loaded without a dataset; give `dataset`, or call bind(dataset)")
        return native.map_documents(own._native)

    @property
    def parts(self) -> dict[str, MatchingModel]:
        """The models that the model is made of, by name."""
        return {name: of_native(part, self._dataset) for name, part in self._fitted().parts()}

    def save(self, path: PathLike) -> None:
        """Writes a model file, with the bytes that the command line would write."""
        self._fitted().save(path_text(path))

    def to_bytes(self) -> bytes:
        """The bytes of a model file."""
        return self._fitted().to_bytes()

    def __getstate__(self) -> dict[str, Any]:
        return {
            "given": self._given,
            "seed": self.seed,
            "model": None if self._native is None else bytes(self._native.to_bytes()),
            "dataset": None if self._dataset is None else self._dataset.path,
            "is_partly_known": self.__dict__.get("_is_partly_known", False),
            "more": self._more(),
        }

    def _more(self) -> dict[str, Any]:
        """State beside parameters and model."""
        return {}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._given, self.seed, self._bound = state["given"], state["seed"], None
        self._is_partly_known = state.get("is_partly_known", False)
        self._native = None if state["model"] is None else _matchrank.from_bytes(state["model"])
        self._dataset = None if state["dataset"] is None else _reopened(state["dataset"])
        self.__dict__.update(state["more"])

    def __repr__(self) -> str:
        settings = {**self._given, **({"seed": self.seed} if self.seed != 1 else {})}
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in settings.items())})"

    def _repr_html_(self) -> str:
        if self._native is None:
            return _html.facts(self.params.items(), f"{type(self).__name__}, not trained")
        return self.inspect()._repr_html_()


def _reopened(path: str) -> Dataset | None:
    """The dataset of a model that was pickled, if it is still there."""
    return Dataset.open(path) if Path(path).is_dir() else None


def _pair(pair: Any) -> tuple[str, str]:
    if isinstance(pair, str) or not hasattr(pair, "__len__") or len(pair) != 2:
        raise InputTypeError(f"{pair!r} is no pair; pairs of the text of a query and the id of a document are expected")
    query, document = pair
    if not isinstance(query, str):
        raise InputTypeError(f"the query {query!r} is of type {type(query).__name__}; a text is expected")
    return query, str(document)


class CompositeModel(MatchingModel):
    """Matches by several other models."""

    #: The models, by name.
    of: dict[str, MatchingModel | str]

    def __init__(self, of: Mapping[str, Any] | Iterable[Any], **settings: Any) -> None:
        self.of = _named(of, type(self).__name__)
        self._begin(settings)

    def _validate(self) -> None:
        pass

    def _more(self) -> dict[str, Any]:
        return {"of": self.of}

    def _parts(self, dataset: Dataset) -> list[tuple[str, Any]]:
        """The models as they are to be combined: those that are not trained are trained now."""
        parts = []
        for name, model in self.of.items():
            if isinstance(model, str):
                model = class_of(model)()
            if not model.is_fitted:
                model = model._unfitted().fit(dataset)
            parts.append((name, model._native))
        return parts

    @property
    def parts(self) -> dict[str, MatchingModel]:
        """The models that the model is made of, by name."""
        found = super().parts
        for (name, part), given in zip(found.items(), self.of.values(), strict=False):
            if isinstance(given, MatchingModel) and type(given) is type(part):
                part._given, part.seed = dict(given._given), given.seed
                part._is_partly_known = given.__dict__.get("_is_partly_known", False)
            elif isinstance(given, str):
                part._given, part._is_partly_known = {}, False
        return found

    @classmethod
    def _of_native(cls, native: Any, dataset: Dataset | None) -> Self:
        model = super()._of_native(native, dataset)
        model.of = {name: of_native(part, dataset) for name, part in native.parts()}
        return model

    def __repr__(self) -> str:
        models = ", ".join(f"{name!r}: {model!r}" for name, model in self.of.items())
        own = super().__repr__().partition("(")[2]
        return f"{type(self).__name__}({{{models}}}{', ' if own != ')' else ''}{own}"


class CombinationModel(CompositeModel):
    """A weighted sum of standardised scores."""

    def __init__(
        self,
        of: Mapping[str, Any] | Iterable[Any],
        *,
        weights: Sequence[float] | None = None,
        candidates: str = "all",
        **settings: Any,
    ) -> None:
        self.weights = None if weights is None else [float(weight) for weight in weights]
        self.candidates = candidates
        super().__init__(of, **settings)

    def _more(self) -> dict[str, Any]:
        return {**super()._more(), "weights": self.weights, "candidates": self.candidates}

    def _unfitted(self) -> Self:
        return type(self)(
            self.of, weights=self.weights, candidates=self.candidates, seed=self.seed, **self._given
        )

    def _train(self, dataset: Dataset) -> Any:
        weights = self.weights
        if weights is not None and len(weights) == 1 and len(self.of) == 2:
            weights = [weights[0], round(1.0 - weights[0], 6)]
        return _matchrank.combine(
            self._parts(dataset), self._settings(), dataset._native, self.seed, weights, self.candidates
        )

    @classmethod
    def _of_native(cls, native: Any, dataset: Dataset | None) -> Self:
        model = super()._of_native(native, dataset)
        model.weights, model.candidates = None, "all"
        return model


class StackModel(CompositeModel):
    """A ranker over the scores of models."""

    def __init__(
        self, of: Mapping[str, Any] | Iterable[Any], *, ranker_of: StackModel | None = None, **settings: Any
    ) -> None:
        if ranker_of is not None and not isinstance(ranker_of, StackModel):
            raise InputTypeError(f"ranker_of is of type {type(ranker_of).__name__}; a trained Stack is expected")
        self.ranker_of = ranker_of
        super().__init__(of, **settings)

    def _more(self) -> dict[str, Any]:
        return {**super()._more(), "ranker_of": self.ranker_of}

    def _unfitted(self) -> Self:
        return type(self)(self.of, ranker_of=self.ranker_of, seed=self.seed, **self._given)

    def _train(self, dataset: Dataset) -> Any:
        former = None if self.ranker_of is None else self.ranker_of._fitted()
        return _matchrank.stack(self._parts(dataset), self._settings(), dataset._native, self.seed, former)

    @classmethod
    def _of_native(cls, native: Any, dataset: Dataset | None) -> Self:
        model = super()._of_native(native, dataset)
        model.ranker_of = None
        return model


def _named(of: Any, what: str) -> dict[str, Any]:
    """Models by name; those of a list are called by their kinds."""
    if isinstance(of, (str, MatchingModel)) or not hasattr(of, "__iter__"):
        raise InputTypeError(f"{what} is made of several models; give a list of models, or a dictionary by name")
    named: dict[str, Any] = {}
    pairs = of.items() if isinstance(of, Mapping) else ((None, model) for model in of)
    for name, model in pairs:
        if isinstance(model, Path):
            from .models import load

            name, model = name or model.stem, load(model)
        if isinstance(model, str):
            name = name or class_of(model).kind
        elif isinstance(model, MatchingModel):
            name = name or model.kind
        else:
            raise InputTypeError(
                f"{what} has a part of type {type(model).__name__}; a matching model, the name of a kind or the path of a "
                "model file is expected"
            )
        if name in named:
            raise ParameterError(f"two models are called {name}; give a dictionary with a name for each")
        named[name] = model
    if not named:
        raise ParameterError(f"{what} has no model; give at least one")
    return named


#: Rows of an explanation in a notebook.
_SHOWN_PARTS = 20


class Explanation:
    """Why a document has its score for a query.

    Attributes:
        model: Kind of the model.
        query: Text of the query.
        document: Id of the document.
        data: The explanation as dictionaries and lists.
    """

    __slots__ = ("data", "document", "model", "query")

    def __init__(self, model: str, query: str, document: str, data: dict[str, Any]) -> None:
        self.model, self.query, self.document, self.data = model, query, document, data

    @property
    def score(self) -> float | None:
        """The score; ``None`` where the model says nothing about the document."""
        return self.data.get("score")

    @property
    def rows(self) -> list[dict[str, Any]]:
        """What the score is made of, the largest part first: words, pairs of features, ways or models.

        The rows of a stack are its models, counts and attributes, and the base of its ranker. Pairs that are too small to
        be listed are one row, ``(others)``.
        """
        rows = []
        for name in ("terms", "words", "pairs", "paths", "parts", "counts", "attributes"):
            for row in self.data.get(name) or []:
                rows.append({key: _flat(value) for key, value in row.items() if key != "explanation"})
        if self.data.get("base"):
            rows.append({"model": "(base)", "adds": self.data["base"]})
        if self.data.get("others"):
            rows.append({"query_feature": "(others)", "score": self.data["others"]})
        return rows

    def to_pandas(self) -> Any:
        """The parts as a pandas ``DataFrame``."""
        import pandas

        return pandas.DataFrame(self.rows)

    def __repr__(self) -> str:
        score = "no score" if self.score is None else f"{self.score:.6f}"
        return f"Explanation({self.model}: {self.query!r}, {self.document!r}: {score}, {len(self.rows)} parts)"

    def _repr_html_(self) -> str:
        rows = self.rows
        header = list(dict.fromkeys(name for row in rows for name in row))
        score = "no score" if self.score is None else f"score {self.score:.6f}"
        caption = f"{self.model}: {self.query} / {self.document}: {score}"
        if len(rows) > _SHOWN_PARTS:
            caption += f"; {_SHOWN_PARTS} of {len(rows):,} parts"
        return _html.table(header, ([row.get(name) for name in header] for row in rows[:_SHOWN_PARTS]), caption)


def _flat(value: Any) -> Any:
    if isinstance(value, list):
        return " > ".join(str(item) for item in value)
    return value


class Description:
    """A model in words and numbers.

    Attributes:
        facts: Names and values, as texts.
        details: Everything for programs.
        remarks: Texts and tables that follow the facts.
    """

    __slots__ = ("details", "facts", "remarks")

    def __init__(self, data: dict[str, Any]) -> None:
        self.facts: dict[str, str] = dict(data["facts"])
        self.details: dict[str, Any] = data["details"]
        self.remarks: list[dict[str, Any]] = data["remarks"]

    def __getitem__(self, name: str) -> Any:
        """A detail, or a fact, by its name."""
        return self.details[name] if name in self.details else self.facts[name]

    def __repr__(self) -> str:
        width = max((len(name) for name in self.facts), default=0)
        return "\n".join(f"{name.ljust(width)}  {value}" for name, value in self.facts.items())

    def _repr_html_(self) -> str:
        parts = [_html.facts(self.facts.items())]
        for remark in self.remarks:
            if "text" in remark:
                parts.append(_html.note(remark["text"]))
            else:
                parts.append(_html.table(remark["header"], remark["rows"], remark["title"]))
        return "".join(parts)


def class_of(kind: str) -> type[MatchingModel]:
    """The class of a kind of model, by its name or another name that plans take."""
    from .models import CLASSES

    for cls in CLASSES.values():
        if kind == cls.kind or kind in cls._kind["aliases"]:
            return cls
    raise ParameterError(f"there is no model called {kind!r}; there are {', '.join(CLASSES)}")


def of_native(native: Any, dataset: Dataset | None) -> MatchingModel:
    """A model of the native module as an object of its class."""
    return class_of(native.kind())._of_native(native, dataset)
