"""Writes the type stubs of the classes that are made of the engine's tables.

Run it after a change of the tables: ``python make_stubs.py [FOLDER]``. A test proves that the stubs in ``matchrank/`` are
those that this script writes.
"""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import Any

import matchrank as mr
from matchrank import models, rankers
from matchrank._values import python_name

HEADER = '"""Type stubs, written by make_stubs.py from the engine\'s tables."""\n'


def type_of(default: Any, help: str) -> str:
    """The type of a parameter by its default."""
    if isinstance(default, bool):
        return "bool"
    if isinstance(default, int):
        return "int"
    if isinstance(default, float):
        return "float"
    if default == "auto":
        return "float | str"
    if isinstance(default, str):
        return "str"
    if isinstance(default, list):
        return "float | list[float]"
    return "float | list[float] | None"


def init(own: list[str], parameters: dict[str, Any]) -> str:
    """The constructor of a class."""
    named = [f"        {name}: {type_of(default, '')} = ...," for name, default in parameters.items()]
    lines = ["    def __init__(", "        self,", *own, *named, "    ) -> None: ..."]
    return "\n".join(lines)


def documented(cls: type) -> str:
    """The documentation of a class."""
    lines = inspect.cleandoc(cls.__doc__ or "").splitlines()
    text = "\n".join(f"    {line}".rstrip() for line in lines)
    return f'    """{text.strip()}\n    """'


def models_stub() -> str:
    """The stub of ``matchrank.models``."""
    parts = [
        HEADER,
        "from collections.abc import Iterable, Mapping, Sequence",
        "from typing import Any, ClassVar\n",
        "from ._model import CombinationModel, Description, Explanation, MatchingModel, StackModel",
        "from ._ranker import RankerMixin",
        "from ._values import PathLike",
        "from .datasets import Dataset\n",
        "CLASSES: dict[str, type[MatchingModel]]\n",
        "def load(path: PathLike, dataset: Dataset | PathLike | None = ...) -> Any: ...\n",
    ]
    for kind, cls in models.CLASSES.items():
        parameters = {python_name(name): default for name, default in cls._kind["defaults"].items()} | {"seed": 1}
        own = ["        *,"]
        base = "MatchingModel"
        if cls._kind["is_made_of_others"]:
            of = "        of: Mapping[str, Any] | Iterable[Any],"
            is_stack = cls._kind["is_stack"]
            base = "StackModel" if is_stack else "CombinationModel"
            more = (
                ["        ranker_of: StackModel | None = ...,"]
                if is_stack
                else ["        weights: Sequence[float] | None = ...,", "        candidates: str = ...,"]
            )
            own = [of, "        *,", *more]
        parts.append(f"class {cls.__name__}({base}):\n{documented(cls)}\n")
        parts.append(f"    kind: ClassVar[str]  # {kind}")
        parts.append(init(own, parameters) + "\n")
    names = ["CLASSES", "Description", "Explanation", "MatchingModel", *(cls.__name__ for cls in models.CLASSES.values())]
    parts.append(f"__all__ = {[*names, 'load']!r}".replace("'", '"'))
    return "\n".join(parts) + "\n"


def rankers_stub() -> str:
    """The stub of ``matchrank.rankers``."""
    parts = [
        HEADER,
        "from typing import Any, ClassVar, Self\n",
        "from ._ranker import FeatureLists as FeatureLists",
        "from ._ranker import RankerMixin, read_letor as read_letor\n",
        "class Ranker(RankerMixin):",
        "    def get_params(self, deep: bool = ...) -> dict[str, Any]: ...",
        "    def set_params(self, **params: Any) -> Self: ...",
        "    def set_fit_request(self, **metadata: bool | str | None) -> Self: ...",
        "    def set_predict_request(self, **metadata: bool | str | None) -> Self: ...",
        "    def set_score_request(self, **metadata: bool | str | None) -> Self: ...\n",
        "CLASSES: dict[str, type[Ranker]]\n",
        "def class_of(kind: str) -> type[Ranker]: ...\n",
    ]
    for kind, cls in rankers.CLASSES.items():
        parts.append(f"class {cls.__name__}(Ranker):\n{documented(cls)}\n")
        parts.append(f"    kind: ClassVar[str]  # {kind}")
        defaults = cls._defaults()
        parts += [f"    {name}: {type_of(default, '')}" for name, default in defaults.items()]
        parts.append(init(["        *,"], defaults) + "\n")
    return "\n".join(parts)


def package_stub() -> str:
    """The stub of the package."""
    eager = {
        "_progress": ["set_progress"],
        "datasets": ["Dataset"],
        "errors": [
            name
            for name, value in vars(mr.errors).items()
            if isinstance(value, type) and issubclass(value, mr.Error) and not name.startswith("_")
        ],
        "evaluation": ["Evaluation", "evaluate", "significance"],
        "tables": ["Table"],
        "models": ["load", *(cls.__name__ for cls in models.CLASSES.values())],
        "_model": ["Description", "Explanation", "MatchingModel"],
        "rankers": [cls.__name__ for cls in rankers.CLASSES.values()],
    }
    for name, module in mr._NAMES.items():
        eager.setdefault(module, []).append(name)
    parts = [HEADER]
    for module in sorted(mr._MODULES):
        parts.append(f"from . import {module} as {module}")
    for module, names in sorted(eager.items()):
        listed = "".join(f"    {name} as {name},\n" for name in sorted(names))
        parts.append(f"from .{module} import (\n{listed})")
    parts += ["\n__version__: str\n", "def set_threads(n: int) -> None: ...", "def threads() -> int: ..."]
    return "\n".join(parts) + "\n"


STUBS = {"models.pyi": models_stub, "rankers.pyi": rankers_stub, "__init__.pyi": package_stub}


def write(folder: Path) -> None:
    """Writes the stubs."""
    for name, make in STUBS.items():
        (folder / name).write_text(make(), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "matchrank")
