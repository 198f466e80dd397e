"""Progress of long work: a bar in a terminal, a line in a notebook, and silence elsewhere."""

from __future__ import annotations

import logging
import sys
import time

_LOG = logging.getLogger("matchrank")
_wanted: bool | None = None


def set_progress(wanted: bool | None) -> None:
    """Shows progress (``True``), hides it (``False``), or shows it in terminals and notebooks (``None``, the default).

    Notes, such as assumptions about columns, always go to the logger ``matchrank`` as well.
    """
    global _wanted
    _wanted = wanted


def _shell() -> object | None:
    """The shell of a notebook, if there is one."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell if shell is not None and hasattr(shell, "kernel") else None


def _is_terminal() -> bool:
    try:
        return sys.stderr is not None and sys.stderr.isatty()
    except ValueError:
        return False


class _Silent:
    def update(self, *_: object) -> None:
        pass

    def close(self) -> None:
        pass


def _seconds(seconds: float) -> str:
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes:02}:{seconds:02}"


class _Line:
    """One line of text that is written again and again."""

    def __init__(self) -> None:
        self._stage = -1
        self._began = time.monotonic()
        self._drawn = 0.0

    def update(
        self, number: int, name: str, done: int, total: int | None, unit: str, remaining: float | None
    ) -> None:
        now = time.monotonic()
        if number != self._stage:
            self._stage, self._began = number, now
        elif now - self._drawn < 0.1:
            return
        self._drawn = now
        self._draw(self._text(name, done, total, unit, remaining, now - self._began))

    @staticmethod
    def _text(name: str, done: int, total: int | None, unit: str, remaining: float | None, spent: float) -> str:
        parts = [name]
        if total:
            share = min(done / total, 1.0)
            filled = int(20 * share)
            parts.append(f"{100 * share:3.0f} % |{'█' * filled}{' ' * (20 - filled)}|")
            parts.append(f"{done:,} of {total:,} {unit}".rstrip())
            if remaining is None and share > 0.02:
                remaining = spent / share - spent
        elif done:
            parts.append(f"{done:,} {unit}".rstrip())
        parts.append(_seconds(spent) + (f" < {_seconds(remaining)}" if remaining is not None else ""))
        return "  ".join(part for part in parts if part)

    def _draw(self, text: str) -> None:
        sys.stderr.write("\r\x1b[2K" + text[:110])
        sys.stderr.flush()

    def close(self) -> None:
        sys.stderr.write("\r\x1b[2K")
        sys.stderr.flush()


class _NotebookLine(_Line):
    def __init__(self) -> None:
        super().__init__()
        from IPython.display import display

        self._handle = display({"text/plain": ""}, raw=True, display_id=True)

    def _draw(self, text: str) -> None:
        self._handle.update({"text/plain": text}, raw=True)

    def close(self) -> None:
        self._handle.update({"text/plain": ""}, raw=True)


def display() -> _Silent | _Line:
    """The display that suits the place where the program runs."""
    if _wanted is False:
        return _Silent()
    if _shell() is not None:
        return _NotebookLine()
    return _Line() if _wanted or _is_terminal() else _Silent()


def note(messages: list[str]) -> None:
    """Logs notes, and prints them where progress is shown."""
    from .errors import _in_python

    is_shown = _wanted is not False and (_wanted or _shell() is not None or _is_terminal())
    for message in map(_in_python, messages):
        _LOG.info(message)
        if is_shown:
            print(f"note: {message}", file=sys.stderr)
