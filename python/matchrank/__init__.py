"""Learn to match queries with documents, and to rank, from click logs and judgments.

>>> import matchrank as mr
>>> shop = mr.Dataset.ingest(clicks=clicks, documents=products, split="time", out="shop")  # doctest: +SKIP
>>> model = mr.Rmls(d=200).fit(shop)  # doctest: +SKIP
>>> model.rank(["red shoes"], k=10)  # doctest: +SKIP
"""

from __future__ import annotations

import importlib
from typing import Any

from . import _matchrank
from ._matchrank import set_threads, threads
from ._progress import set_progress
from .datasets import Dataset
from .errors import (
    DivergedError,
    Error,
    FileError,
    FormatError,
    InputTypeError,
    InternalError,
    MissingFileError,
    NotFittedError,
    ParameterError,
    ParseError,
    ServiceError,
    ShapeError,
)
from .evaluation import Evaluation, evaluate, significance
from .models import *  # noqa: F403
from .models import load
from .tables import Table

__version__: str = _matchrank.version()

# Modules that are imported when they are first used: they need other packages, or take time.
_MODULES = ("client", "export", "ir_measures", "pyterrier", "rankers", "simulate")
_NAMES = {
    "Client": "client",
    "Comparison": "experiments",
    "TunedModel": "experiments",
    "compare": "experiments",
    "features": "experiments",
    "open_comparison": "experiments",
    "tune": "experiments",
    "FeatureLists": "_ranker",
    "read_letor": "_ranker",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        try:
            return importlib.import_module(f"{__name__}.{name}")
        except ImportError as error:
            raise AttributeError(f"module {__name__}.{name} cannot be imported: {error}") from error
    if name in _NAMES:
        value = getattr(importlib.import_module(f"{__name__}.{_NAMES[name]}"), name)
    elif name in _ranker_classes():
        value = getattr(importlib.import_module(f"{__name__}.rankers"), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{_suggestion(name)}")
    globals()[name] = value
    return value


def _ranker_classes() -> list[str]:
    from ._kinds import tables

    return [kind["class"] for kind in tables()["rankers"]]


def _suggestion(name: str) -> str:
    """Names the public item that a misspelt one may stand for."""
    import difflib

    if name.startswith("_"):
        return ""
    known = {item.lower(): item for item in (*globals(), *_MODULES, *_NAMES, *_ranker_classes()) if not item.startswith("_")}
    close = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.75)
    return f"; did you mean {known[close[0]]}?" if close else ""


#: Packages without which a module cannot be imported.
_NEEDS = {"ir_measures": ("ir_measures",), "pyterrier": ("pyterrier", "pandas", "numpy")}


def _is_importable(module: str) -> bool:
    import importlib.util

    def is_there(package: str) -> bool:
        try:
            return importlib.util.find_spec(package) is not None
        except (ImportError, ValueError):
            return False

    return all(map(is_there, _NEEDS.get(module, ())))


def __dir__() -> list[str]:
    return sorted({*globals(), *filter(_is_importable, _MODULES), *_NAMES, *_ranker_classes()})
