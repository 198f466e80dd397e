"""Models for search engines."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from . import _matchrank
from ._model import MatchingModel
from ._values import PathLike, path_text
from .datasets import Dataset, as_dataset
from .errors import InputTypeError, ParameterError


def synonyms(
    model: MatchingModel,
    out: PathLike | None = None,
    *,
    dataset: Dataset | PathLike | None = None,
    format: str = "solr",
    threshold: float = 0.2,
    top: int = 10,
    min_support: int = 3,
) -> str:
    """Returns pairs of words that a sparse-preference model relates, for the synonym filter of a search engine.

    Args:
        model: A model of sparse preferences, or one that has such a part.
        out: File to write, too.
        dataset: Dataset whose whole words stand for the stems of the model; the default is that of the training.
        format: ``solr`` or ``csv``.
        threshold: Least weight of a pair.
        top: Most document words of a query word.
        min_support: Documents that must have a pair of whole words.
    """
    if not isinstance(model, MatchingModel):
        raise InputTypeError(f"a matching model is expected, not an object of type {type(model).__name__}")
    own = model.dataset if dataset is None else as_dataset(dataset)
    native = None if own is None else own._native
    text = _matchrank.synonyms(model._fitted(), format, threshold, top, native, min_support)
    return _written(text, out)


def elasticsearch(
    ranker: Any, out: PathLike | None = None, *, name: str = "matchrank", features: Sequence[str] | None = None
) -> dict[str, Any]:
    """Returns a linear ranker as the body of a request to the learning-to-rank plugin of Elasticsearch.

    Args:
        ranker: A trained ranker with a weight for each feature.
        out: File to write, too.
        name: Name of the model in the plugin.
        features: Names of the features; the default is ``feature_1``, ``feature_2``, ...
    """
    if not hasattr(ranker, "_fitted") or isinstance(ranker, MatchingModel):
        raise InputTypeError(f"a ranker is expected, not an object of type {type(ranker).__name__}")
    text = _matchrank.elasticsearch(ranker._fitted(), name, None if features is None else list(features))
    return json.loads(_written(text, out, "\n"))


def query_vectors(model: MatchingModel, queries: Any, out: PathLike | None = None) -> str:
    """Returns latent vectors of queries, of length 1, as query features for query-dependent rankers.

    Args:
        model: A latent model, such as RMLS, or one that has such a part.
        queries: Texts, pairs of id and text, or a dictionary of texts by id.
        out: File to write, too.
    """
    import numpy

    from ._values import queries_of

    pairs = queries_of(queries)
    vectors = model.map_queries([text for _, text in pairs])
    lengths = numpy.linalg.norm(vectors, axis=1, keepdims=True)
    vectors = numpy.divide(vectors, lengths, out=numpy.zeros_like(vectors), where=lengths > 0)
    names = "\t".join(f"v{i + 1}" for i in range(vectors.shape[1]))
    rows = ("\t".join([id, *(repr(float(x)) for x in row)]) for (id, _), row in zip(pairs, vectors, strict=True))
    return _written("\n".join([f"query\t{names}", *rows]) + "\n", out)


def _written(text: str, out: PathLike | None, end: str = "") -> str:
    if out is not None:
        try:
            with open(path_text(out), "w", encoding="utf-8", newline="") as file:
                file.write(text + end)
        except FileNotFoundError as error:
            raise ParameterError(f"{out}: the folder does not exist; make it first") from error
    return text
