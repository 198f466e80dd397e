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
        return importlib.import_module(f"{__name__}.{name}")
    if name in _NAMES:
        value = getattr(importlib.import_module(f"{__name__}.{_NAMES[name]}"), name)
    elif name in _ranker_classes():
        value = getattr(importlib.import_module(f"{__name__}.rankers"), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def _ranker_classes() -> list[str]:
    from ._kinds import tables

    return [kind["class"] for kind in tables()["rankers"]]


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES, *_NAMES, *_ranker_classes()})
