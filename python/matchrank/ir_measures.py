"""A provider for ``ir_measures``: the same figures, computed by matchrank.

Importing this module registers the provider under the name ``matchrank``.

>>> import ir_measures  # doctest: +SKIP
>>> from ir_measures import nDCG, AP  # doctest: +SKIP
>>> mr.ir_measures.provider.calc_aggregate([nDCG @ 10, AP], qrels, run)  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import ir_measures
from ir_measures import measures as _measures
from ir_measures import providers as _providers
from ir_measures.providers.base import NOT_PROVIDED as _NOT_PROVIDED
from ir_measures.providers.base import Any as _Any
from ir_measures.providers.base import Choices as _Choices
from ir_measures.util import Metric

from . import evaluation


def _name(measure: Any) -> str:
    """The name of a measure of ``ir_measures`` in matchrank."""
    own = {"nDCG": "ndcg", "AP": "map", "RR": "mrr", "P": "p", "R": "r", "Bpref": "bpref"}[measure.NAME]
    if own == "ndcg":
        options = "(gain=linear)" if measure["dcg"] == "log2" else "(gain=exp)"
    else:
        options = "" if measure["rel"] == 1 else f"(rel={measure['rel']})"
    cutoff = measure["cutoff"] if "cutoff" in measure.SUPPORTED_PARAMS else _NOT_PROVIDED
    return own + options + ("" if cutoff is _NOT_PROVIDED else f"@{cutoff}")


class MatchrankEvaluator(_providers.Evaluator):
    """Evaluates runs against judgments that were converted once."""

    def __init__(self, measures: Iterable[Any], qrels: Any) -> None:
        by_query = ir_measures.util.QrelsConverter(qrels).as_dict_of_dict()
        measures = list(measures)
        super().__init__(measures, set(by_query))
        self._judgments = evaluation._judgments(by_query, "test")

    def _iter_calc(self, run: Any) -> Iterator[Metric]:
        by_query = ir_measures.util.RunConverter(run).as_dict_of_dict()
        names = ",".join(_name(measure) for measure in self.measures)
        found = evaluation._matchrank.evaluate(
            self._judgments, evaluation._run(by_query), names, "trec", False, None
        )
        for query, values in zip(found.queries(), found.values().tolist(), strict=True):
            for measure, value in zip(self.measures, values, strict=True):
                if value == value:
                    yield Metric(query_id=query, measure=measure, value=value)


class MatchrankProvider(_providers.Provider):
    """Computes nDCG, AP, RR, P, R and Bpref as trec_eval does."""

    NAME = "matchrank"
    SUPPORTED_MEASURES = [
        _measures._P(cutoff=_Any(), rel=_Any(), judged_only=_Choices(False)),
        _measures._RR(cutoff=_Any(), rel=_Any(), judged_only=_Choices(False)),
        _measures._AP(cutoff=_Any(), rel=_Any(), judged_only=_Choices(False)),
        _measures._nDCG(
            cutoff=_Any(), dcg=_Choices("log2", "exp-log2"), gains=_Choices(_NOT_PROVIDED), judged_only=_Choices(False)
        ),
        _measures._R(cutoff=_Any(), rel=_Any(), judged_only=_Choices(False)),
        _measures._Bpref(rel=_Any()),
    ]

    def _evaluator(self, measures: Iterable[Any], qrels: Any) -> MatchrankEvaluator:
        return MatchrankEvaluator(measures, qrels)


_providers.register(MatchrankProvider())
#: The provider.
provider = _providers.registry["matchrank"]
