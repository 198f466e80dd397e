"""The package as a whole: stubs, imports, documentation."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import matchrank as mr
import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def make_stubs():
    spec = importlib.util.spec_from_file_location("make_stubs", ROOT / "make_stubs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_stubs_are_fresh(make_stubs, tmp_path):
    make_stubs.write(tmp_path)
    for name in make_stubs.STUBS:
        text = (tmp_path / name).read_text()
        ast.parse(text)
        assert (ROOT / "matchrank" / name).read_text() == text, f"{name} is not fresh; run python make_stubs.py"
        installed = Path(mr.__file__).with_name(name)
        assert installed.read_text() == text


def test_stubs_have_every_public_name(make_stubs):
    tree = ast.parse(make_stubs.package_stub())
    names = {alias.asname or alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
    names |= {node.name for node in tree.body if isinstance(node, ast.FunctionDef)} | {"__version__"}
    public = {name for name in dir(mr) if not name.startswith("_") and not inspect.ismodule(getattr(mr, name, None))}
    assert public - names <= {"annotations", "Any", "CLASSES"}


def test_import_takes_no_heavy_package():
    code = """
import sys
import matchrank
print([name for name in ("numpy", "pandas", "sklearn", "pyarrow", "scipy", "http.client") if name in sys.modules])
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said == "[]\n"


def test_every_public_item_is_documented():
    for name in dir(mr):
        value = getattr(mr, name)
        if name.startswith("_") or not (inspect.isclass(value) or inspect.isfunction(value)) or name == "Any":
            continue
        assert value.__doc__, name
        if inspect.isclass(value) and value.__module__.startswith("matchrank"):
            for method, function in vars(value).items():
                assert method.startswith("_") or not inspect.isfunction(function) or function.__doc__, f"{name}.{method}"


def test_names_that_are_not_there():
    with pytest.raises(AttributeError, match="has no attribute 'zebra'"):
        mr.zebra
    assert {"RankSVM", "Client", "compare", "pyterrier"} <= set(dir(mr))


def test_the_version_is_that_of_the_package():
    try:
        installed = metadata.version("matchrank")
    except metadata.PackageNotFoundError:
        pytest.skip("the package is not installed from a wheel")
    assert installed == mr.__version__
    assert (Path(mr.__file__).parent / "py.typed").exists()
