"""Transformers for PyTerrier: retrieval, reranking, and rankers that learn from features. No Java is needed.

>>> import pyterrier as pt  # doctest: +SKIP
>>> first = mr.pyterrier.Retriever(mr.Bm25().fit(shop), k=100)  # doctest: +SKIP
>>> pt.Experiment([first, first >> mr.pyterrier.Reranker(rmls)], topics, qrels, ["ndcg_cut_10"])  # doctest: +SKIP
"""

from __future__ import annotations

from typing import Any

import numpy
import pandas
import pyterrier as pt

from ._model import MatchingModel
from ._values import PathLike
from .datasets import Dataset, as_dataset
from .errors import InputTypeError, ParameterError


def _model(model: Any, dataset: Dataset | PathLike | None) -> tuple[MatchingModel, Dataset]:
    if not isinstance(model, MatchingModel):
        raise InputTypeError(f"a trained matching model is expected, not an object of type {type(model).__name__}")
    model._fitted()
    own = model.dataset if dataset is None else as_dataset(dataset)
    if own is None:
        raise ParameterError("the model was loaded without a dataset; give the dataset whose documents are to be ranked")
    return model, own


def _needs(frame: pandas.DataFrame, what: str, columns: tuple[str, ...]) -> None:
    absent = [column for column in columns if column not in frame.columns]
    if absent:
        raise ParameterError(
            f"{what} needs the columns {', '.join(columns)}; the input has {', '.join(map(str, frame.columns)) or 'none'}"
        )


class Retriever(pt.Transformer):
    """Retrieves the best documents of a dataset for each query.

    Takes ``qid`` and ``query``; returns ``docno``, ``score``, ``rank`` (from 0) and, if wanted, ``text`` beside them.

    Args:
        model: A trained matching model.
        dataset: Documents to rank; the default is the dataset of the training.
        k: Documents per query, at most.
        text: Adds the texts of the documents, all fields joined.
    """

    def __init__(
        self, model: MatchingModel, dataset: Dataset | PathLike | None = None, *, k: int = 1000, text: bool = False
    ) -> None:
        super().__init__()
        self.model, self.dataset = _model(model, dataset)
        self.k = k
        self.text = text

    def transform(self, topics: pandas.DataFrame) -> pandas.DataFrame:
        """Ranks documents for topics."""
        _needs(topics, "Retriever", ("qid", "query"))
        names = ["docno", "score", "rank", *(["text"] if self.text else [])]
        kept = topics.drop(columns=[name for name in names if name in topics.columns]).drop_duplicates("qid")
        if len(kept) == 0:
            found = pandas.DataFrame({"qid": [], "docno": [], "score": [], "rank": []})
        else:
            pairs = list(zip(kept["qid"].astype(str), kept["query"].astype(str), strict=True))
            table = self.model.rank(pairs, k=self.k, dataset=self.dataset)
            found = pandas.DataFrame(
                {
                    "qid": table["query_id"],
                    "docno": table["document"],
                    "score": table["score"].astype(numpy.float64),
                    "rank": table["rank"].astype(numpy.int64) - 1,
                }
            )
        if self.text:
            found["text"] = found["docno"].map(self._texts())
        kept = kept.assign(qid=kept["qid"].astype(str))
        return kept.merge(found.astype({"qid": object, "docno": object}), on="qid", how="inner")

    def _texts(self) -> dict[str, str]:
        documents = self.dataset.documents()
        fields = [documents[name] for name in documents.columns[1:]]
        joined = (" ".join(part for part in parts if part) for parts in zip(*fields, strict=True))
        return dict(zip(documents["document"], joined, strict=True))


class Reranker(pt.Transformer):
    """Scores the documents of each query anew.

    Takes ``qid``, ``query`` and ``docno``; returns the same rows with ``score`` and ``rank`` (from 0). Documents that the
    dataset does not have get the lowest rank of their query.

    Args:
        model: A trained matching model.
        dataset: Dataset with the documents; the default is that of the training.
    """

    def __init__(self, model: MatchingModel, dataset: Dataset | PathLike | None = None) -> None:
        super().__init__()
        self.model, self.dataset = _model(model, dataset)
        self._known = frozenset(self.dataset.documents()["document"])

    def transform(self, results: pandas.DataFrame) -> pandas.DataFrame:
        """Scores results."""
        _needs(results, "Reranker", ("qid", "query", "docno"))
        results = results.drop(columns=[name for name in ("score", "rank") if name in results.columns])
        documents = results["docno"].astype(str)
        known = documents.isin(self._known).to_numpy(dtype=bool)
        scores = numpy.full(len(results), -numpy.inf)
        if known.any():
            pairs = list(zip(results["query"][known].astype(str), documents[known], strict=True))
            scores[known] = self.model.score(pairs, dataset=self.dataset)
        # Lower than every document of the dataset, and finite for measures.
        lowest = scores[known].min() - 1.0 if known.any() else 0.0
        scores[~known] = lowest
        return pt.model.add_ranks(results.assign(score=scores))


class Ranker(pt.Estimator):
    """Learns to rank from the column ``features`` of results.

    Args:
        ranker: A ranker such as ``mr.LambdaMart()``.
    """

    def __init__(self, ranker: Any) -> None:
        super().__init__()
        if not hasattr(ranker, "predict") or not hasattr(ranker, "fit"):
            raise InputTypeError(f"a ranker such as RankSVM() is expected, not an object of type {type(ranker).__name__}")
        self.ranker = ranker

    @staticmethod
    def _features(results: pandas.DataFrame) -> numpy.ndarray:
        _needs(results, "Ranker", ("qid", "docno", "features"))
        return numpy.stack([numpy.asarray(row, dtype=numpy.float64) for row in results["features"]])

    @staticmethod
    def _grades(results: pandas.DataFrame, qrels: pandas.DataFrame) -> numpy.ndarray:
        _needs(qrels, "judgments", ("qid", "docno", "label"))
        judged = qrels[["qid", "docno", "label"]].astype({"qid": str, "docno": str})
        rows = results[["qid", "docno"]].astype(str).merge(judged, on=["qid", "docno"], how="left")
        return rows["label"].fillna(0).clip(lower=0).to_numpy(dtype=numpy.float64)

    def fit(
        self,
        topics_or_res_tr: pandas.DataFrame,
        qrels_tr: pandas.DataFrame,
        topics_or_res_va: pandas.DataFrame | None = None,
        qrels_va: pandas.DataFrame | None = None,
    ) -> Ranker:
        """Learns from results with features, and chooses on validation results if there are any."""
        more: dict[str, Any] = {}
        if topics_or_res_va is not None and qrels_va is not None and len(topics_or_res_va) > 0:
            grades = self._grades(topics_or_res_va, qrels_va)
            more["eval_set"] = [(self._features(topics_or_res_va), grades)]
            more["eval_qid"] = [topics_or_res_va["qid"].astype(str).to_numpy()]
        x, y = self._features(topics_or_res_tr), self._grades(topics_or_res_tr, qrels_tr)
        self.ranker.fit(x, y, topics_or_res_tr["qid"].astype(str).to_numpy(), **more)
        return self

    def transform(self, results: pandas.DataFrame) -> pandas.DataFrame:
        """Scores results by their features."""
        if len(results) == 0:
            return pt.model.add_ranks(results.assign(score=[]))
        x = self._features(results)
        scores = self.ranker.predict(x, qid=results["qid"].astype(str).to_numpy())
        return pt.model.add_ranks(results.assign(score=scores))
