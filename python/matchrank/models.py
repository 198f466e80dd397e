"""The matching models: a class for every kind in the engine's table.

The classes are made when the module is imported. Their parameters, defaults and documentation are those of the command
line, because both come from the same table.
"""

from __future__ import annotations

import inspect
import textwrap
from typing import Any

from . import _kinds, _matchrank
from ._model import CombinationModel, Description, Explanation, MatchingModel, StackModel, of_native
from ._values import PathLike, path_text, python_name
from .datasets import Dataset, as_dataset



def _class_of(kind: dict[str, Any]) -> type[MatchingModel]:
    base: type[MatchingModel] = MatchingModel
    own: list[inspect.Parameter] = []
    if kind["is_made_of_others"]:
        base = StackModel if kind["is_stack"] else CombinationModel
        own = list(inspect.signature(base.__init__).parameters.values())[1:-1]
    keyword = inspect.Parameter.KEYWORD_ONLY
    named = [
        inspect.Parameter(python_name(name), keyword, default=default) for name, default in kind["defaults"].items()
    ]
    seed = inspect.Parameter("seed", keyword, default=1)
    this = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)

    if kind["is_made_of_others"]:

        def __init__(self: Any, *args: Any, **settings: Any) -> None:
            base.__init__(self, *args, **settings)
    else:

        def __init__(self: Any, **settings: Any) -> None:
            self._begin(settings)

    __init__.__signature__ = inspect.Signature([this, *own, *named, seed])  # type: ignore[attr-defined]
    __init__.__qualname__ = f"{kind['class']}.__init__"
    body = {
        "__init__": __init__,
        "__doc__": documentation(kind),
        "__module__": __name__,
        "kind": kind["name"],
        "_kind": kind,
    }
    return type(kind["class"], (base,), body)


def documentation(kind: dict[str, Any]) -> str:
    """The documentation of a class: what the model does and what its parameters mean."""
    paragraphs = [kind["summary"] + "."]
    paragraphs += [textwrap.fill(text, 100) for text in kind["help"].split("\n\n") if text]
    helps = {parameter["name"]: parameter["help"] for parameter in kind["parameters"]}
    lines = ["Args:"]
    for name in kind["defaults"]:
        text = f"{python_name(name)}: {helps.get(name, 'see the command line')}"
        lines.append(textwrap.fill(text, 96, initial_indent="    ", subsequent_indent="        "))
    lines.append("    seed: seed of everything random")
    return "\n\n".join([*paragraphs, "\n".join(lines)])


#: The classes, by the names of their kinds.
CLASSES: dict[str, type[MatchingModel]] = {kind["name"]: _class_of(kind) for kind in _kinds.tables()["models"]}
globals().update({cls.__name__: cls for cls in CLASSES.values()})

__all__ = ["CLASSES", "Description", "Explanation", "MatchingModel", "load", *(c.__name__ for c in CLASSES.values())]


def load(path: PathLike, dataset: Dataset | PathLike | None = None) -> Any:
    """Opens a model file, of a matching model or of a ranker.

    Args:
        path: File that ``save``, or the command line, wrote.
        dataset: Dataset whose documents a matching model is to rank.
    """
    native = _matchrank.open_model(path_text(path))
    if isinstance(native, _matchrank.NativeRanker):
        from . import rankers

        return rankers.of_native(native)
    return of_native(native, None if dataset is None else as_dataset(dataset))
