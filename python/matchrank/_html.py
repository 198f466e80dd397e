"""Tables and lists as HTML, for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

_CELL = "padding:2px 10px;border-bottom:1px solid rgba(128,128,128,.25)"


def cell(value: object) -> str:
    """A value as people read it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4f}" if abs(value) < 1e6 else f"{value:.4g}"
    if isinstance(value, int):
        return f"{value:,}"
    return str(value)


def table(header: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "") -> str:
    """A table with a header."""
    parts = ["<table style='border-collapse:collapse;font-variant-numeric:tabular-nums'>"]
    if caption:
        parts.append(f"<caption style='text-align:left;font-weight:600;padding:4px 10px'>{escape(caption)}</caption>")
    names = "".join(f"<th style='{_CELL};text-align:left'>{escape(name)}</th>" for name in header)
    parts.append(f"<thead><tr>{names}</tr></thead><tbody>" if any(header) else "<tbody>")
    for row in rows:
        cells = []
        for value in row:
            is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
            side = "right" if is_number else "left"
            cells.append(f"<td style='{_CELL};text-align:{side}'>{escape(cell(value))}</td>")
        parts.append(f"<tr>{''.join(cells)}</tr>")
    parts.append("</tbody></table>")
    return "".join(parts)


def facts(pairs: Iterable[tuple[str, object]], caption: str = "") -> str:
    """Names with values."""
    return table(["", ""], pairs, caption)


def note(text: str) -> str:
    """A line of small text."""
    return f"<p style='margin:4px 10px;opacity:.7'>{escape(text)}</p>"
