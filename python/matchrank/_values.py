"""Values on their way to the native module."""

from __future__ import annotations

import json
import keyword
import os
import sys
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
    """True for tables with the Arrow PyCapsule interface. A column, such as a Series of pandas, is no table."""
    if type(value).__name__ == "LazyFrame":
        raise InputTypeError("a LazyFrame has no rows yet; call .collect() on it first")
    has_rows = hasattr(value, "__arrow_c_stream__") or hasattr(value, "__arrow_c_array__")
    return has_rows and not is_series(value)


def is_series(value: Any) -> bool:
    """True for single columns: a Series of pandas or polars, or an array of pyarrow."""
    has_list = any(hasattr(value, name) for name in ("to_list", "to_pylist"))
    return has_list and not any(hasattr(value, name) for name in ("columns", "column_names", "schema", "names"))


def column_names(table: Any) -> list[str] | None:
    """Names of the columns of a table; ``None`` where the table does not tell."""
    for name in ("column_names", "columns"):
        found = getattr(table, name, None)
        if found is not None and not callable(found):
            return [column for column in found if isinstance(column, str)]
    return None


#: Names of columns with ids, in small letters, beside those that end in ``id``.
_IDS = frozenset(
    "article asin corpus_id doc docno document id item item_code item_sku product product_code product_sku q_id qid sku topic "
    "url".split()
)


def _holds_ids(name: Any, more: Iterable[str]) -> bool:
    if not isinstance(name, str):
        return False
    lower = name.lower()
    return lower in _IDS or lower.endswith(("_id", "id")) or name in more


def table_of(table: Any, ids: Iterable[str] = ()) -> Any:
    """A table without the index of a pandas frame, whose ids are whole numbers where pandas has made them floats.

    Args:
        table: A table with the Arrow PyCapsule interface.
        ids: Further names of columns with ids.
    """
    kind, ids = type(table).__module__.partition(".")[0], frozenset(ids)
    if kind == "pandas" and "pandas" in sys.modules:
        return _of_pandas(table, ids)
    if kind == "polars":
        import polars

        names = [name for name in table.columns if name.startswith(_INDEX)]
        table = table.drop(names) if names else table
        for name, column in ((name, table[name]) for name in table.columns if _holds_ids(name, ids)):
            if column.dtype in (polars.Float32, polars.Float64) and _are_whole(column.drop_nulls().to_numpy()):
                table = table.with_columns(column.fill_nan(None).cast(polars.Int64))
        return table
    if kind == "pyarrow" and hasattr(table, "set_column") and hasattr(table, "column_names"):
        return _of_pyarrow(table, ids)
    return table


#: Start of the names that pandas gives to an index without a name.
_INDEX = "__index_level_"


def _of_pandas(frame: Any, ids: frozenset[str]) -> Any:
    levels = getattr(frame, "index", None)
    if levels is None or not hasattr(frame, "reset_index"):
        return frame
    unnamed = [i for i, name in enumerate(levels.names) if name is None or str(name).startswith(_INDEX)]
    if unnamed:
        frame = frame.reset_index(level=unnamed, drop=True)
    elif type(levels).__name__ == "RangeIndex" and levels.name not in frame.columns:
        # Arrow would have a range as a note on the table, and not as a column.
        frame = frame.reset_index()
    hidden = [name for name in frame.columns if isinstance(name, str) and name.startswith(_INDEX)]
    if hidden:
        frame = frame.drop(columns=hidden)
    if not frame.columns.is_unique:
        return frame
    whole = {}
    for name in frame.columns:
        column = frame[name]
        is_float = str(column.dtype).lower() in ("float16", "float32", "float64")
        if is_float and _holds_ids(name, ids) and _are_whole(column.dropna().to_numpy(dtype=float)):
            whole[name] = "Int64"
    return frame.astype(whole) if whole else frame


def _of_pyarrow(table: Any, ids: frozenset[str]) -> Any:
    import pyarrow

    hidden = [name for name in table.column_names if name.startswith(_INDEX)]
    table = table.drop_columns(hidden) if hidden else table
    if len(set(table.column_names)) < len(table.column_names):
        return table
    for place, name in enumerate(table.column_names):
        column = table.column(place)
        if not pyarrow.types.is_floating(column.type) or not _holds_ids(name, ids):
            continue
        # NaN is a missing value here, as it is in pandas.
        values = pyarrow.array(column.to_numpy(zero_copy_only=False), type=pyarrow.float64(), from_pandas=True)
        if _are_whole(values.drop_null().to_numpy()):
            table = table.set_column(place, name, values.cast(pyarrow.int64()))
    return table


def _are_whole(values: Any) -> bool:
    import numpy

    values = values[~numpy.isnan(values)]
    return bool((numpy.isfinite(values) & (values == numpy.floor(values)) & (abs(values) < 2.0**53)).all())


def path_text(path: PathLike) -> str:
    return os.fspath(Path(path).expanduser())


def of_records(records: Iterable[Any], what: str, ids: Iterable[str] = ()) -> Any:
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
            column.append(_text(value, _holds_ids(name, ids)))
        n += 1
    if n == 0:
        raise ParameterError(f"{what} has no record; at least one is expected")
    for column in columns.values():
        column.extend([None] * (n - len(column)))
    return _matchrank.text_rows(list(columns.items()))


def _is_missing(value: Any) -> bool:
    """True for ``None``, NaN, and the missing values of pandas."""
    if value is None or (isinstance(value, float) and value != value):
        return True
    return type(value).__name__ in ("NAType", "NaTType") or (hasattr(value, "dtype") and value.ndim == 0 and bool(value != value))


def _text(value: Any, is_id: bool) -> str | None:
    if isinstance(value, str):
        return value
    if _is_missing(value):
        return None
    if isinstance(value, (list, tuple)):
        return " ".join(str(item) for item in value)
    if is_id and isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def queries_of(queries: Any) -> list[tuple[str, str]]:
    """Queries as pairs of id and text; texts alone are their own ids."""
    return named_queries(queries)[0]


_QUERY_IDS, _QUERY_TEXTS = ("query_id", "qid", "id", "_id"), ("query", "text", "query_text")


def named_queries(queries: Any) -> tuple[list[tuple[str, str]], bool]:
    """Queries as pairs of id and text, and whether the ids were given; texts alone are their own ids."""
    if isinstance(queries, str):
        return [(queries, queries)], False
    if isinstance(queries, Mapping):
        return [(str(id), _query(text)) for id, text in queries.items()], True
    if is_table(queries):
        names = column_names(queries)
        if names is not None and not set(names) & set(_QUERY_IDS) and set(names) & set(_QUERY_TEXTS):
            (texts,) = as_columns(queries, "queries", (_QUERY_TEXTS,))
            return _some([(text, text) for text in texts]), False
        table = as_columns(queries, "queries", (_QUERY_IDS, _QUERY_TEXTS))
        return _some(list(zip(*table, strict=True))), True
    if not hasattr(queries, "__iter__"):
        raise InputTypeError(f"queries is {queries!r} of type {type(queries).__name__}; texts, pairs or a data frame are expected")
    pairs, has_ids = [], False
    for query in queries:
        if isinstance(query, str):
            pairs.append((str(query), str(query)))
        elif isinstance(query, (tuple, list)) and len(query) >= 2:
            pairs.append((str(query[0]), _query(query[1])))
            has_ids = True
        else:
            _query(query)
    return _some(pairs), has_ids


def _some(pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
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

    return _matchrank.text_columns(table_of(table), what, [list(group) for group in names])
