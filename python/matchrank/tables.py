"""Tables that functions return."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from . import _html
from .errors import InputTypeError, ParameterError

_SHOWN = 20


class Table:
    """Rows of named columns.

    A table speaks the Arrow PyCapsule interface, so that pandas, polars, pyarrow and DuckDB take it as it is. It can be
    iterated, and has the rows as dictionaries.
    """

    __slots__ = ("_names", "_rows")

    def __init__(self, rows: Any, names: Mapping[str, str] | None = None) -> None:
        self._rows = rows
        # Names of columns by those that the rows have.
        self._names = dict(names or {})

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return [self._names.get(name, name) for name in self._rows.names()]

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return len(self), len(self.columns)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, name: str | slice) -> Any:
        """Values of a column, a NumPy array of numbers or a list of texts; or the rows of a slice, a table."""
        if isinstance(name, slice):
            start, stop, step = name.indices(len(self))
            if step != 1:
                raise ParameterError(f"a table has slices of step 1, not {step}; convert it with to_pandas() for others")
            return Table(self._rows.slice(start, max(stop - start, 0)), self._names)
        if not isinstance(name, str):
            raise InputTypeError(f"{name!r} is no name of a column; give a name, or a slice of rows such as table[:3]")
        own = {shown: hidden for hidden, shown in self._names.items()}.get(name, name)
        if name not in self.columns:
            raise KeyError(f"there is no column '{name}'; there are {', '.join(self.columns)}")
        return self._rows.column(own)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        names = self.columns
        columns = [_python(self[name]) for name in names]
        for row in zip(*columns, strict=True):
            yield dict(zip(names, row, strict=True))

    def head(self, n: int = 10) -> Table:
        """The first rows."""
        return Table(self._rows.slice(0, n), self._names)

    def to_dict(self) -> dict[str, list[Any]]:
        """Columns as lists."""
        return {name: _python(self[name]) for name in self.columns}

    def to_pandas(self) -> Any:
        """A pandas ``DataFrame``."""
        import pandas

        return pandas.DataFrame({name: self[name] for name in self.columns})

    def to_polars(self) -> Any:
        """A polars ``DataFrame``."""
        import polars

        return polars.DataFrame(self)

    def to_arrow(self) -> Any:
        """A pyarrow ``Table``."""
        import pyarrow

        return pyarrow.table(self)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        if self._names:
            # The rows again, with the names that the table shows.
            rebuilt, content = self.__reduce__()
            return rebuilt(*content)._rows.__arrow_c_stream__(requested_schema)
        return self._rows.__arrow_c_stream__(requested_schema)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Table) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuilt, (list(self.to_dict().items()), [str(self[name].dtype) if hasattr(self[name], "dtype") else "" for name in self.columns]))

    def __repr__(self) -> str:
        names = self.columns
        rows = [names, *([_html.cell(row[name]) for name in names] for row in self.head(_SHOWN))]
        widths = [max(len(row[i]) for row in rows) for i in range(len(names))]
        lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        if len(self) > _SHOWN:
            lines.append(f"... {len(self):,} rows")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = ([row[name] for name in self.columns] for row in self.head(_SHOWN))
        more = _html.note(f"{len(self):,} rows") if len(self) > _SHOWN else ""
        return _html.table(self.columns, rows) + more


def _python(values: Any) -> list[Any]:
    return values.tolist() if hasattr(values, "tolist") else list(values)


def _rebuilt(columns: list[tuple[str, list[Any]]], kinds: list[str]) -> Table:
    from . import _matchrank

    return Table(_matchrank.rows_of(columns, kinds))
