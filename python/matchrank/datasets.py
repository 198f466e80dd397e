"""Datasets: documents, queries and responses in a folder."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from . import _html, _matchrank
from ._values import PathLike, encoded, is_path, is_series, is_table, of_records, path_text, table_of
from .errors import InputTypeError, ParameterError
from .tables import Table

#: Where rows come from: a path, a data frame (or anything with Arrow's PyCapsule interface), an iterable of records, or
#: several of these.
Source = Any

#: Sources whose rows are left out one by one.
_LOGS = ("clicks", "responses")

#: Reasons for which rows are left out that suggest a mistake.
_LOSSES = (
    "rows without a query",
    "rows without a document",
    "rows whose query id is in no queries file",
    "rows whose document is not in the collection",
    "events whose search is not in the log",
)

_SPLITS = ("validation", "test")
_ROLES = ("clicks", "documents", "queries", "responses", "validation", "test")


class Dataset:
    """A dataset folder, as ``matchrank ingest`` writes it.

    Datasets are made by :meth:`ingest` and opened by :meth:`open`.
    """

    __slots__ = ("_manifest", "_native")

    def __init__(self, native: Any) -> None:
        if not isinstance(native, _matchrank.NativeDataset):
            raise InputTypeError("datasets are made by Dataset.ingest(...) and opened by Dataset.open(path)")
        self._native = native
        self._manifest: dict[str, Any] = json.loads(native.manifest())

    @classmethod
    def open(cls, path: PathLike) -> Dataset:
        """Opens a dataset folder."""
        return cls(_matchrank.open_dataset(path_text(path)))

    @classmethod
    def ingest(
        cls,
        *,
        out: PathLike,
        documents: Source,
        clicks: Source = None,
        queries: Source = None,
        responses: Source = None,
        validation: Source = None,
        test: Source = None,
        replace: bool = False,
        columns: Mapping[str, Any] | None = None,
        text: Sequence[str] = (),
        attributes: Sequence[str] | None = None,
        field_weights: Mapping[str, float] | None = None,
        event_weights: Mapping[str, float] | None = None,
        split: str = "none",
        holdout: tuple[float, float] = (0.1, 0.1),
        grades: str = "share",
        min_clicks: float = 0.0,
        language: str | Sequence[str] = "auto",
        field_languages: Mapping[str, str] | None = None,
        fold_accents: bool | None = None,
        stemming: bool = True,
        stop_words: bool = True,
        compounds: bool = True,
        ngrams: int = 1,
        min_document_frequency: int = 1,
        max_document_share: float = 1.0,
        max_words: int | None = None,
        date_format: str | None = None,
        drop_before: str | None = None,
        delimiter: str | None = None,
        csv_escape: str = "auto",
        history: bool = True,
        memory: int = 1024,
        seed: int = 1,
    ) -> Dataset:
        """Writes a dataset folder from logs, documents and judgments, and opens it.

        Every source is a path, a data frame of pandas, polars, pyarrow or DuckDB, an iterable of records (named tuples,
        dictionaries or dataclasses, as ``ir_datasets`` has them), or a list of several. The same rows give the same
        dataset, whatever they come from.

        Args:
            out: Folder to write.
            documents: Ids and texts of the documents.
            clicks: Click logs: query, document, and what else is known (clicks, position, time, ...).
            queries: Ids and texts of queries, for logs and judgments that name queries by id.
            responses: Graded judgments to learn from, in place of clicks.
            validation: Judgments to choose parameters on.
            test: Judgments for the final figure.
            replace: Replaces a dataset that is at ``out`` already.
            columns: Columns of the sources by role, as in ``{"query": "search_term"}``, or by file and role.
            text: Text columns of the documents; the default is those with usual names and short texts.
            attributes: Columns that are attributes of documents, such as a price; the default is those whose values
                suggest it, an empty list is none.
            field_weights: Weights of text fields.
            event_weights: Clicks that an event of a type counts, as in ``{"click": 1, "purchase": 5}``.
            split: How clicks are held out for validation and test: ``none``, ``query`` or ``time``.
            holdout: Shares that are held out for validation and for test.
            grades: Grades of held-out clicks: ``share`` or ``binary``.
            min_clicks: Training pairs with fewer clicks are dropped.
            language: ``auto``, ``none``, or languages of the documents, the main one first.
            field_languages: Languages of single fields.
            fold_accents: Removes accents; the default is to do so in languages whose users often omit them.
            stemming: Reduces words to stems.
            stop_words: Drops stop words.
            compounds: Splits German compounds.
            ngrams: Also indexes sequences of up to so many words.
            min_document_frequency: Drops words of fewer documents.
            max_document_share: Drops words of more than this share of the documents.
            max_words: Keeps only so many words, the most frequent ones.
            date_format: Format of times in the notation of ``strftime``; the default is to recognise it.
            drop_before: Leaves out rows of logs before this day, as in ``2026-01-31``.
            delimiter: Delimiter of CSV files; the default is to recognise it.
            csv_escape: How CSV files write quotes inside of cells: ``auto``, ``double`` or ``backslash``.
            history: Keeps the rows, so that :meth:`append` can add to them.
            memory: MiB for summing clicks; the rest goes to temporary files.
            seed: Seed of the split by query.
        """
        arguments: dict[str, Any] = {
            **_columns(columns),
            "text": _names(text, "text"),
            "attributes": None if attributes is None else _names(attributes, "attributes"),
            "field_weights": field_weights or {},
            "event_weights": event_weights or {},
            "split": split,
            "holdout": holdout,
            "grades": grades,
            "min_clicks": min_clicks,
            "languages": _languages(language),
            "field_languages": field_languages or {},
            "fold_accents": fold_accents,
            "stemming": stemming,
            "stop_words": stop_words,
            "compounds": compounds,
            "ngrams": ngrams,
            "min_document_frequency": min_document_frequency,
            "max_document_share": max_document_share,
            "max_words": max_words,
            "date_format": date_format,
            "drop_before": drop_before,
            "delimiter": delimiter,
            "csv_escape": csv_escape,
            "history": history,
            "memory_mib": memory,
            "seed": seed,
        }
        sources = dict(zip(_ROLES, (clicks, documents, queries, responses, validation, test), strict=True))
        files, tables = _sources(sources, columns)
        made = cls(_matchrank.ingest(encoded({**arguments, **files}), tables, path_text(out), replace))
        made._warn_of_loss({})
        return made

    def append(
        self,
        *,
        clicks: Source = None,
        documents: Source = None,
        queries: Source = None,
        responses: Source = None,
        validation: Source = None,
        test: Source = None,
        removed: PathLike | Sequence[PathLike] = (),
        whole_catalogue: bool = False,
        columns: Mapping[str, Any] | None = None,
        drop_before: str | None = None,
        skip_known: bool = False,
        memory: int = 1024,
    ) -> Dataset:
        """Adds rows to the folder and returns the dataset as it is now.

        Args:
            clicks: Click logs, such as those of a day.
            documents: Documents that are new or changed.
            queries: Ids and texts of queries.
            responses: Graded judgments to learn from.
            validation: Judgments to choose parameters on.
            test: Judgments for the final figure.
            removed: Files with the ids of documents to remove, one in each line.
            whole_catalogue: ``documents`` are the whole catalogue; documents that are not among them are removed.
            columns: Columns of the sources by role; those of the dataset are the default.
            drop_before: Leaves out rows of logs before this day, former ones included.
            skip_known: Skips files that were added before, instead of raising an error.
            memory: MiB for summing clicks.
        """
        sources = dict(zip(_ROLES, (clicks, documents, queries, responses, validation, test), strict=True))
        files, tables = _sources(sources, columns)
        arguments = {
            **_columns(columns),
            "removed": [path_text(path) for path in ([removed] if is_path(removed) else removed)],  # type: ignore[union-attr]
            "whole_catalogue": whole_catalogue,
            "drop_before": drop_before,
            "skip_known": skip_known,
            "memory_mib": memory,
        }
        before, is_smaller = type(self).open(self.path), bool(arguments["removed"]) or whole_catalogue
        whole = type(self)(_matchrank.append(encoded({**arguments, **files}), tables, str(self.path)))
        if not is_smaller:
            # Rows of documents that were removed are left out for a reason.
            whole._warn_of_loss(before.left_out, before._n_rows())
        return whole

    @property
    def left_out(self) -> dict[str, int]:
        """Numbers of rows and pairs that are not in the dataset, by reason."""
        return dict(self._manifest.get("left_out") or {})

    def _n_rows(self) -> int:
        return sum(source["rows"] for source in self._manifest["sources"] if source["role"] in _LOGS)

    def _warn_of_loss(self, before: Mapping[str, int], n_before: int = 0) -> None:
        """Warns if many of the new rows were left out, other than by the user's wish."""
        new = {reason: n - before.get(reason, 0) for reason, n in self.left_out.items()}
        lost = {reason: n for reason, n in new.items() if n > 0 and reason in _LOSSES}
        n, n_lost = self._n_rows() - n_before, sum(lost.values())
        if n <= 0 or n_lost <= 0.05 * n:
            return
        reasons = "; ".join(f"{count:,} {reason}" for reason, count in lost.items())
        warnings.warn(
            f"{n_lost:,} of {n:,} rows of the log were left out: {reasons}. Do the ids of the log and of the documents (or queries) agree?",
            UserWarning,
            stacklevel=3,
        )

    @property
    def path(self) -> str:
        """The folder."""
        return str(self._native.folder())

    @property
    def manifest(self) -> dict[str, Any]:
        """Sources, settings, counts and hashes of the dataset."""
        return json.loads(self._native.manifest())

    @property
    def statistics(self) -> dict[str, Any]:
        """Counts of the dataset."""
        return dict(self._manifest["statistics"])

    @property
    def n_documents(self) -> int:
        """Number of documents."""
        return self._manifest["statistics"]["n_documents"]

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return self._manifest["statistics"]["n_queries"]

    @property
    def n_pairs(self) -> int:
        """Number of training pairs of a query and a document."""
        return self._manifest["statistics"]["n_pairs"]

    @property
    def fields(self) -> dict[str, float]:
        """Text fields of the documents with their weights."""
        fields = self._manifest["fields"]
        return dict(fields) if isinstance(fields, Mapping) else {name: weight for name, weight in fields}

    @property
    def content_hash(self) -> str:
        """Hash of the content: equal for equal datasets."""
        return self._manifest["content_hash"]

    def queries(self, split: str | None = None) -> Table:
        """All queries (``query_id``, ``query``), or the judged ones of ``validation`` or ``test``."""
        self._require_judgments(split)
        return Table(self._native.queries(split))

    def judgments(self, split: str = "test") -> Table:
        """Judgments (``query_id``, ``document``, ``grade``) of ``validation`` or ``test``."""
        self._require_judgments(split)
        return Table(self._native.judgments(split))

    def _require_judgments(self, split: str | None) -> None:
        if split not in _SPLITS or self._manifest["statistics"]["n_judgments"][_SPLITS.index(split)] > 0:
            return
        raise ParameterError(
            f'this dataset has no {split} judgments; ingest with split="time" or split="query", or give {split}=...'
        )

    def documents(self) -> Table:
        """Ids and texts of all documents."""
        return Table(self._native.documents())

    def document(self, id: str) -> dict[str, str]:
        """Texts of a document by field."""
        return self._native.document(str(id))

    def responses(self) -> Table:
        """Training pairs: text of the query, id of the document, clicks or grade."""
        return Table(self._native.responses())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dataset) and self.content_hash == other.content_hash

    def __hash__(self) -> int:
        return hash(self.content_hash)

    def __reduce__(self) -> tuple[Any, ...]:
        return (Dataset.open, (self.path,))

    def __repr__(self) -> str:
        return (
            f"Dataset({self.path!r}: {self.n_documents:,} documents, {self.n_queries:,} queries, {self.n_pairs:,} pairs)"
        )

    def _repr_html_(self) -> str:
        counts, manifest = self.statistics, self._manifest
        fields = ", ".join(f"{name} ({weight:g})" for name, weight in self.fields.items())
        kinds = ", ".join(f"{found['name']} ({found['kind']})" for found in manifest.get("attributes") or [])
        judged = ", ".join(f"{n:,} {split}" for n, split in zip(counts["n_judged_queries"], _SPLITS, strict=True))
        left_out = "; ".join(f"{n:,} {reason}" for reason, n in self.left_out.items())
        rows = [
            ("folder", self.path),
            ("queries", counts["n_queries"]),
            ("documents", counts["n_documents"]),
            ("clicks", int(counts["n_clicks"])),
            ("training pairs", counts["n_pairs"]),
            ("judged queries", judged),
            ("split", manifest["split"]["by"]),
            ("text fields (weights)", fields),
            ("attributes", kinds or "none"),
            ("left out", left_out or "nothing"),
        ]
        return _html.facts(rows, "Dataset")


def as_dataset(dataset: Any) -> Dataset:
    """A dataset, or the one of a folder."""
    if isinstance(dataset, Dataset):
        return dataset
    if is_path(dataset):
        return Dataset.open(dataset)
    raise InputTypeError(
        f"a dataset is expected, not an object of type {type(dataset).__name__}; make one with Dataset.ingest(...) or open "
        "a folder with Dataset.open(path)"
    )


def _names(names: Any, what: str) -> list[str]:
    if isinstance(names, str):
        return [names]
    if not all(isinstance(name, str) for name in names):
        raise InputTypeError(f"{what} has a name that is not text; give names of columns")
    return list(names)


def _languages(language: Any) -> list[str]:
    if language == "auto":
        return []
    names = [language] if isinstance(language, str) else list(language)
    if "auto" in names:
        raise ParameterError("language 'auto' stands alone; omit the other languages, or name all of them")
    return names


def _columns(columns: Mapping[str, Any] | None) -> dict[str, Any]:
    of_all = {name: column for name, column in (columns or {}).items() if isinstance(column, str)}
    of_files = {name: column for name, column in (columns or {}).items() if not isinstance(column, str)}
    for name, column in of_files.items():
        if not isinstance(column, Mapping):
            raise InputTypeError(
                f"columns[{name!r}] is {column!r}; the name of a column is expected, or a dictionary of roles for a file"
            )
    return {"columns": of_all, "file_columns": of_files}


def _id_columns(columns: Mapping[str, Any] | None) -> set[str]:
    """Columns that the user names as ids."""
    given = list((columns or {}).items())
    given += [pair for _, column in given if isinstance(column, Mapping) for pair in column.items()]
    return {column for role, column in given if role in ("document", "query_id") and isinstance(column, str)}


def _sources(
    sources: Mapping[str, Source], columns: Mapping[str, Any] | None
) -> tuple[dict[str, list[str]], dict[str, Any]]:
    """Paths of files and names of tables by role, and the tables by name."""
    ids = _id_columns(columns)
    files: dict[str, list[str]] = {}
    tables: dict[str, Any] = {}
    for role, source in sources.items():
        files[role] = []
        for one in _each(source):
            if is_path(one):
                files[role].append(path_text(one))
                continue
            n = len(files[role]) + 1
            name = f"<{role}>" if n == 1 else f"<{role} {n}>"
            tables[name] = table_of(one, ids) if is_table(one) else of_records(one, role, ids)
            files[role].append(name)
    return files, tables


def _each(source: Source) -> Iterable[Source]:
    if source is None:
        return []
    if is_path(source) or is_table(source):
        return [source]
    if isinstance(source, Mapping):
        raise InputTypeError("a source is a dictionary; a path, a data frame or an iterable of records is expected")
    if is_series(source):
        raise InputTypeError(
            f"a source is a single column of type {type(source).__name__}; a path, a data frame or an iterable of records is "
            "expected: select the columns as a frame, or call .reset_index() on the result of a groupby of pandas"
        )
    if isinstance(source, (list, tuple)) and (not source or all(is_path(one) or is_table(one) for one in source)):
        return source
    if hasattr(source, "__iter__"):
        return [source]
    raise InputTypeError(
        f"a source is of type {type(source).__name__}; a path, a data frame or an iterable of records is expected"
    )
