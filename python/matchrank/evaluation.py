"""Ranking measures in the dialects of the known tools."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from . import _html, _matchrank
from ._values import as_columns, column_names, is_path, is_table, path_text, table_of
from .datasets import Dataset
from .errors import InputTypeError, ParameterError
from .tables import Table

#: Measures that are computed by default, as on the command line.
DEFAULT_MEASURES = ("ndcg@10", "map", "mrr", "p@10", "r@100")


class Evaluation(Mapping[str, float]):
    """Figures of a run: a mapping of measures to their means.

    ``evaluation["ndcg@10"]`` is a mean; :attr:`per_query` has the values of all queries.
    """

    __slots__ = ("_means", "_native")

    def __init__(self, native: Any) -> None:
        self._native = native
        self._means = dict(zip(native.measures(), native.means(), strict=True))

    def __getitem__(self, measure: str) -> float:
        return self._means[measure]

    def __iter__(self) -> Iterator[str]:
        return iter(self._means)

    def __len__(self) -> int:
        return len(self._means)

    @property
    def measures(self) -> list[str]:
        """Names of the measures."""
        return list(self._means)

    @property
    def queries(self) -> list[str]:
        """Ids of the judged queries."""
        return self._native.queries()

    @property
    def values(self) -> Any:  # type: ignore[override]
        """Values by query and measure, a NumPy array; NaN where a query is left out of the means."""
        return self._native.values()

    @property
    def per_query(self) -> dict[str, dict[str, float]]:
        """Values by query and measure, without the queries that are left out."""
        names = self.measures
        rows = zip(self.queries, self._native.values().tolist(), strict=True)
        return {
            query: dict(zip(names, row, strict=True)) for query, row in rows if not all(value != value for value in row)
        }

    @property
    def audit(self) -> dict[str, Any]:
        """How often a convention, rather than the ranking, decided."""
        return json.loads(self._native.audit())["audit"]

    @property
    def conventions(self) -> dict[str, Any]:
        """Conventions of the dialect: gain, ties, and queries without a relevant document."""
        return json.loads(self._native.audit())["conventions"]

    def to_pandas(self) -> Any:
        """Values by query (rows) and measure (columns) as a pandas ``DataFrame``."""
        import pandas

        index = pandas.Index(self.queries, name="query")
        return pandas.DataFrame(self._native.values(), index=index, columns=self.measures)

    def __repr__(self) -> str:
        return f"Evaluation({', '.join(f'{name} {value:.4f}' for name, value in self._means.items())})"

    def _repr_html_(self) -> str:
        audit = self.audit
        counted = f"{audit['queries_in_mean']:,} of {audit['judged_queries']:,} judged queries"
        caption = f"{self.conventions['dialect']}: {counted}"
        return _html.table(["measure", "mean"], self._means.items(), caption)


def evaluate(
    qrels: Any,
    run: Any,
    measures: str | Iterable[str] | None = None,
    *,
    dialect: str = "matchrank",
    complete: bool = False,
    ties: str | None = None,
    split: str = "test",
) -> Evaluation:
    """Evaluates a run against judgments, as ``matchrank eval`` does.

    Args:
        qrels: Judgments: a dictionary ``{query: {document: grade}}``, a data frame with the columns ``query_id`` (or
            ``qid``), ``doc_id`` (or ``docno``) and ``relevance`` (or ``label``), a TREC file, or a dataset.
        run: Rankings: a dictionary ``{query: {document: score}}``, a data frame with the columns ``query_id``,
            ``doc_id`` and ``score``, a table that ``rank`` returned, or a TREC file. Scores decide the order. With the
            judgments of a dataset, queries may be named by their texts.
        measures: Names such as ``ndcg@10``, ``map``, ``mrr``, ``p@10``, ``r@100``, ``err@20``, ``rbp(p=0.8)``, ``bpref``.
        dialect: Conventions: ``matchrank``, ``trec``, ``ranx``, ``lightgbm`` or ``sklearn``.
        complete: Judged queries that are missing from the run get the worst value in every dialect.
        ties: Order of equal scores: ``hash``, ``document``, ``file``, ``averaged``, ``worst`` or ``best``; the default is
            that of the dialect.
        split: Judgments of a dataset to use: ``test`` or ``validation``.
    """
    if isinstance(qrels, Dataset):
        run = _by_ids(run, qrels.queries(split))
    native = _matchrank.evaluate(
        _judgments(qrels, split), _run(run), _measures(measures, dialect), dialect, complete, ties
    )
    result = Evaluation(native)
    audit = result.audit
    missing, judged = audit["queries_missing"], audit["judged_queries"]
    if 2 * missing > judged:
        warnings.warn(
            f"{missing:,} of {judged:,} judged queries are missing from the run; are its query ids those of the judgments, and "
            "were all queries ranked?",
            UserWarning,
            stacklevel=2,
        )
    return result


_RUN_QUERIES = ("query_id", "qid", "query", "q_id", "topic")


def _by_ids(run: Any, judged: Table) -> Any:
    """The run with ids in place of texts, if it has the texts of the judged queries and not their ids."""
    ids = set(judged["query_id"])
    by_text: dict[str, list[str]] = {}
    for query, text in zip(judged["query_id"], judged["query"], strict=True):
        by_text.setdefault(text, []).append(query)
    columns: tuple[Any, ...] = ()
    if isinstance(run, Mapping):
        names = {query for query in run if isinstance(query, str)}
    elif isinstance(run, Table):
        names = set(run[_present(run.columns, _RUN_QUERIES)])
    elif not is_path(run) and is_table(run) and column_names(run) is not None:
        columns = (_RUN_QUERIES, ("doc_id", "docno", "document", "docid", "doc", "iid"), ("score",))
        if not all(set(group) & set(column_names(run) or ()) for group in columns):
            return run
        names = set(as_columns(run, "run", columns[:1])[0])
    else:
        return run
    if len(names & ids) >= len(names & by_text.keys()):
        return run
    if isinstance(run, Mapping):
        return {query: dict(scores) for text, scores in run.items() for query in by_text.get(text, [text])}
    if isinstance(run, Table):
        rows = (run[_present(run.columns, _RUN_QUERIES)], run["document"], run["score"].tolist())
    else:
        *named, scores = as_columns(run, "run", columns)
        rows = (*named, [float(score) for score in scores])
    found: dict[str, dict[str, float]] = {}
    for text, document, score in zip(*rows, strict=True):
        for query in by_text.get(text, (text,)):
            found.setdefault(query, {})[document] = score
    return found


def _present(names: list[str], wanted: Iterable[str]) -> str:
    return next((name for name in wanted if name in names), "query")


def _measures(measures: str | Iterable[str] | None, dialect: str) -> str:
    if measures is None:
        return "ndcg@10,map" if dialect == "sklearn" else ",".join(DEFAULT_MEASURES)
    names = measures if isinstance(measures, str) else ",".join(str(measure) for measure in measures)
    if not names.strip():
        raise ParameterError("there is no measure; name at least one, such as ndcg@10")
    return names


def _judgments(qrels: Any, split: str) -> Any:
    if isinstance(qrels, Dataset):
        return _matchrank.judgments_of_table(qrels.judgments(split))
    if isinstance(qrels, dict):
        return _matchrank.judgments_of_dict(qrels)
    if isinstance(qrels, Mapping):
        return _matchrank.judgments_of_dict({query: dict(grades) for query, grades in qrels.items()})
    if is_table(qrels):
        return _matchrank.judgments_of_table(table_of(qrels))
    if is_path(qrels):
        return _matchrank.judgments_of_file(path_text(qrels))
    if hasattr(qrels, "__iter__"):
        from ._values import of_records

        return _matchrank.judgments_of_table(of_records(qrels, "qrels"))
    raise _wrong(qrels, "qrels", "grade")


def _run(run: Any) -> Any:
    if isinstance(run, dict):
        return run
    if isinstance(run, Mapping):
        return {query: dict(scores) for query, scores in run.items()}
    if isinstance(run, Table):
        return _matchrank.run_of_table(run._rows)
    if is_table(run):
        return _matchrank.run_of_table(table_of(run))
    if is_path(run):
        return _matchrank.run_of_file(path_text(run))
    if hasattr(run, "__iter__"):
        from ._values import of_records

        return _matchrank.run_of_table(of_records(run, "run"))
    raise _wrong(run, "run", "score")


def _wrong(value: Any, what: str, number: str) -> InputTypeError:
    return InputTypeError(
        f"{what} is of type {type(value).__name__}; a dictionary {{query: {{document: {number}}}}}, a data frame or the path "
        "of a TREC file is expected"
    )


def significance(
    evaluations: Mapping[str, Evaluation], measure: str | None = None, *, test: str = "t", seed: int = 1
) -> Table:
    """Tests the differences between all pairs of runs in one measure.

    Args:
        evaluations: Results of :func:`evaluate` by the name of the run, all with the same judgments.
        measure: A measure of all evaluations; the default is the first that all have.
        test: ``t``, ``sign``, ``fisher`` or ``wilcoxon``.
        seed: Seed of Fisher's randomisation.

    Returns:
        A row for each pair: ``better``, ``worse``, ``difference``, ``p`` and ``p_holm``, the last corrected over all pairs.
    """
    names = list(evaluations)
    if len(names) < 2:
        raise ParameterError("a test compares two runs or more; give at least two evaluations")
    known = [name for name in evaluations[names[0]].measures if all(name in evaluations[other] for other in names)]
    if not known:
        raise ParameterError("the evaluations have no measure in common; evaluate all runs with the same measures")
    if measure is not None and measure not in known:
        raise ParameterError(f"the evaluations have no measure {measure} in common; they have {', '.join(known)}")
    measure = known[0] if measure is None else measure
    native = [(evaluations[name]._native, evaluations[name].measures.index(measure)) for name in names]
    pairs = json.loads(_matchrank.compare_evaluations(native, test, seed))
    columns: list[tuple[str, list[Any]]] = [
        ("better", [names[pair["better"]] for pair in pairs]),
        ("worse", [names[pair["worse"]] for pair in pairs]),
        *((name, [pair[name] for pair in pairs]) for name in ("difference", "p", "p_holm")),
    ]
    return Table(_matchrank.rows_of(columns, ["", "", "float64", "float64", "float64"]))
