"""The code of the page on Python in the book, and the notebooks."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "src" / "python.md"
NOTEBOOKS = sorted((ROOT / "python" / "notebooks").glob("*.ipynb"))


def run(blocks: list[str], name: str, folder: Path, monkeypatch) -> dict:
    """Runs blocks of code in a folder, one after the other, with their own names."""
    monkeypatch.chdir(folder)
    names: dict = {"__name__": "__main__"}
    for i, block in enumerate(blocks, 1):
        try:
            exec(compile(block, f"{name}, block {i}", "exec"), names)
        except Exception as error:
            pytest.fail(f"{name}, block {i}: {type(error).__name__}: {error}\n{block}")
    return names


def test_the_code_of_the_page_runs(tmp_path, monkeypatch):
    text = PAGE.read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", text, flags=re.S | re.M)
    assert len(blocks) >= 12 and re.findall(r"^```(\w*)", text, flags=re.M).count("") == len(re.findall(r"^```\w", text, flags=re.M))
    run(blocks, "python.md", tmp_path, monkeypatch)
    # A reader runs the page again, in the same folder.
    run(blocks[:6], "python.md", tmp_path, monkeypatch)


def test_the_readme_runs(tmp_path, monkeypatch):
    text = (ROOT / "python" / "README.md").read_text()
    run(re.findall(r"^```python\n(.*?)^```", text, flags=re.S | re.M), "README.md", tmp_path, monkeypatch)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path, monkeypatch):
    notebook = json.loads(path.read_text())
    assert notebook["nbformat"] == 4
    cells = notebook["cells"]
    assert all(not cell.get("outputs") for cell in cells), "notebooks are kept without outputs"
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    names = run(code, path.name, tmp_path, monkeypatch)
    shown = [value for value in names.values() if hasattr(value, "_repr_html_")]
    assert shown and all("<" in (value._repr_html_() or "<") for value in shown if not isinstance(value, type))


def test_there_are_two_notebooks():
    assert len(NOTEBOOKS) == 2 and os.path.getsize(NOTEBOOKS[0]) < 50_000
