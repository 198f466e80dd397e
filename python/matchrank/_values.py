"""Values on their way to the native module."""

from __future__ import annotations

import json
import keyword
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .errors import InputTypeError, ParameterError

#: A path to a file or folder.
PathLike = str | os.PathLike[str]


def plain(value: Any) -> Any:
    """A value as JSON has it: numbers of NumPy become numbers, tuples become lists."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, (Sequence, set, frozenset)):
        return [plain(item) for item in value]
    raise InputTypeError(
        f"{value!r} is of type {type(value).__name__}; a number, a text, a list or a dictionary is expected"
    )


def encoded(value: Any) -> str:
    """JSON for the native module."""
    return json.dumps(plain(value), ensure_ascii=False)


def python_name(name: str) -> str:
    """The name of a parameter as an argument: words of the language get an underscore, as in ``lambda_``."""
    return name + "_" if keyword.iskeyword(name) else name


def engine_name(name: str) -> str:
    """The name of an argument as a parameter of the engine."""
    return name[:-1] if name.endswith("_") and keyword.iskeyword(name[:-1]) else name


def is_path(value: Any) -> bool:
    return isinstance(value, (str, os.PathLike))


def is_table(value: Any) -> bool:
    """True for objects with the Arrow PyCapsule interface."""
    return hasattr(value, "__arrow_c_stream__") or hasattr(value, "__arrow_c_array__")


def path_text(path: PathLike) -> str:
    return os.fspath(Path(path).expanduser())


def of_records(records: Iterable[Any], what: str) -> Any:
    """A table of an iterable of named tuples, dictionaries or objects with fields."""
    from . import _matchrank

    columns: dict[str, list[str | None]] = {}
    n = 0
    for record in records:
        if isinstance(record, Mapping):
            fields = record
        elif hasattr(record, "_asdict"):
            fields = record._asdict()
        elif hasattr(record, "__dataclass_fields__"):
            fields = {name: getattr(record, name) for name in record.__dataclass_fields__}
        else:
            raise InputTypeError(
                f"{what} has a record of type {type(record).__name__}; named tuples, dictionaries or dataclasses are "
                "expected, or a path, or a data frame"
            )
        for name, value in fields.items():
            column = columns.setdefault(str(name), [])
            column.extend([None] * (n - len(column)))
            column.append(_text(value))
        n += 1
    if n == 0:
        raise ParameterError(f"{what} has no record; at least one is expected")
    for column in columns.values():
        column.extend([None] * (n - len(column)))
    return _matchrank.text_rows(list(columns.items()))


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)):
        return " ".join(str(item) for item in value)
    return str(value)


def queries_of(queries: Any) -> list[tuple[str, str]]:
    """Queries as pairs of id and text; texts alone are their own ids."""
    if isinstance(queries, str):
        return [(queries, queries)]
    if isinstance(queries, Mapping):
        return [(str(id), _query(text)) for id, text in queries.items()]
    if is_table(queries):
        table = as_columns(queries, "queries", (("query_id", "qid", "id", "_id"), ("query", "text", "query_text")))
        return list(zip(*table, strict=True))
    pairs = []
    for query in queries:
        if isinstance(query, str):
            pairs.append((query, query))
        elif isinstance(query, (tuple, list)) and len(query) >= 2:
            pairs.append((str(query[0]), _query(query[1])))
        else:
            _query(query)
    if not pairs:
        raise ParameterError("there is no query; give at least one text")
    return pairs


def _query(text: Any) -> str:
    if not isinstance(text, str):
        raise InputTypeError(f"a query is {text!r} of type {type(text).__name__}; a text is expected")
    return text


def as_columns(table: Any, what: str, names: Sequence[Sequence[str]]) -> list[list[str]]:
    """Some columns of a table as texts, each by the first of its names that the table has."""
    from . import _matchrank

    return _matchrank.text_columns(table, what, [list(group) for group in names])
