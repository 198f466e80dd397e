"""Progress and notes."""

from __future__ import annotations

import sys
import types

import matchrank as mr
import pytest
from matchrank import _progress


@pytest.fixture(autouse=True)
def _as_before():
    yield
    mr.set_progress(None)


def test_a_bar_tells_stage_share_and_time():
    text = _progress._Line._text("training", 250, 1000, "steps", None, 3.0)
    assert text == "training   25 % |█████               |  250 of 1,000 steps  00:03 < 00:09"
    assert _progress._Line._text("clicks", 1200, None, "rows", None, 1.0) == "clicks  1,200 rows  00:01"
    assert _progress._Line._text("models", 0, None, "", 3700.0, 61.0) == "models  01:01 < 1:01:40"


def test_progress_is_shown_where_it_is_wanted(capsys, tmp_path, shop):
    assert isinstance(_progress.display(), _progress._Silent)
    mr.set_progress(True)
    display = _progress.display()
    display.update(1, "reading", 1, 2, "files", None)
    display.close()
    said = capsys.readouterr().err
    assert "reading" in said and "50 %" in said and said.endswith("\x1b[2K")
    mr.set_progress(False)
    assert isinstance(_progress.display(), _progress._Silent)
    _progress.note(["quiet"])
    assert capsys.readouterr().err == ""


def test_a_notebook_has_a_line_that_changes(monkeypatch):
    shown = []

    class Handle:
        def update(self, data, raw):
            shown.append(data["text/plain"])

    ipython = types.ModuleType("IPython")
    ipython.get_ipython = lambda: types.SimpleNamespace(kernel=object())
    ipython.display = types.ModuleType("IPython.display")
    ipython.display.display = lambda *_, **__: Handle()
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", ipython.display)
    display = _progress.display()
    display.update(1, "training", 3, 4, "steps", None)
    display.close()
    assert "75 %" in shown[0] and shown[-1] == ""


def test_notes_name_arguments(capsys):
    mr.set_progress(True)
    _progress.note(["text fields: title (option `text` overrides)"])
    assert capsys.readouterr().err == "note: text fields: title (`text` overrides)\n"
