"""The rankers of feature lists: a class for every kind in the engine's table.

The classes are estimators of scikit-learn where that is installed, and have the same methods where it is not.
"""

from __future__ import annotations

import inspect
from typing import Any

from . import _kinds
from ._ranker import FeatureLists, PlainEstimator, RankerMixin, read_letor
from ._values import python_name
from .errors import ParameterError

try:
    from sklearn.base import BaseEstimator
    from sklearn.utils.validation import validate_data
except ImportError:
    BaseEstimator = PlainEstimator
    validate_data = None


class Ranker(RankerMixin, BaseEstimator):
    __doc__ = RankerMixin.__doc__

    def _features(self, X: Any, *, reset: bool, what: str = "X") -> Any:
        matrix = super()._features(X, reset=reset, what=what)
        if validate_data is None or isinstance(X, FeatureLists):
            return matrix
        # Names and numbers of features, as scikit-learn checks them; the values are checked already.
        validate_data(self, X, reset=reset, skip_check_array=True)
        return matrix

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.positive_only = True
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self._kind["takes"]["missing"]
        tags.non_deterministic = False
        return tags


def _class_of(kind: dict[str, Any]) -> type[Ranker]:
    keyword = inspect.Parameter.KEYWORD_ONLY
    defaults = {python_name(name): default for name, default in kind["defaults"].items()}
    if kind["chosen"] is not None:
        # Chosen on the validation lists, where it is not given.
        defaults[python_name(kind["chosen"]["parameter"])] = None
    if kind["takes"]["scalings"] != "none":
        defaults["scaling"] = "min_max"
    defaults |= {"eval_metric": "ndcg@10", "seed": 1}
    named = [inspect.Parameter(name, keyword, default=default) for name, default in defaults.items()]
    this = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)

    def __init__(self: Any, **params: Any) -> None:
        self._set(params)

    __init__.__signature__ = inspect.Signature([this, *named])  # type: ignore[attr-defined]
    __init__.__qualname__ = f"{kind['class']}.__init__"
    body = {
        "__init__": __init__,
        "__doc__": _documentation(kind, defaults),
        "__module__": __name__,
        "kind": kind["name"],
        "_kind": kind,
    }
    return type(kind["class"], (Ranker,), body)


def _documentation(kind: dict[str, Any], defaults: dict[str, Any]) -> str:
    import textwrap

    helps = {python_name(parameter["name"]): parameter["help"] for parameter in kind["parameters"]}
    if kind["variants"] is not None:
        names = ", ".join(name for name, _ in kind["variants"]["values"])
        helps[kind["variants"]["parameter"]] = f"{kind['variants']['help']}: {names}"
    helps |= {
        "scaling": "scaling of features: min_max, z_score, query_min_max, query_z_score, none, or auto (chosen on validation)",
        "eval_metric": "measure on the validation lists",
        "seed": "seed of everything random",
    }
    chosen = kind["chosen"]
    if chosen is not None:
        name = python_name(chosen["parameter"])
        without = "" if chosen["otherwise"] is None else f"; {chosen['otherwise']:g} without validation lists"
        helps[name] = f"{helps.get(name, '')}; None: chosen on the validation lists{without}"
    lines = ["Args:"]
    for name in defaults:
        text = f"{name}: {helps.get(name, 'see the command line')}"
        lines.append(textwrap.fill(text, 96, initial_indent="    ", subsequent_indent="        "))
    paragraphs = [textwrap.fill(text, 100) for text in kind["help"].split("\n\n") if text]
    return "\n\n".join([kind["summary"] + ".", *paragraphs, "\n".join(lines)])


#: The classes, by the names of their kinds.
CLASSES: dict[str, type[Ranker]] = {kind["name"]: _class_of(kind) for kind in _kinds.tables()["rankers"]}
globals().update({cls.__name__: cls for cls in CLASSES.values()})

__all__ = ["CLASSES", "FeatureLists", "Ranker", "read_letor", *(cls.__name__ for cls in CLASSES.values())]


def class_of(kind: str) -> type[Ranker]:
    """The class of a kind of ranker."""
    if kind not in CLASSES:
        raise ParameterError(f"there is no ranker called {kind!r}; there are {', '.join(CLASSES)}")
    return CLASSES[kind]


def of_native(native: Any) -> Ranker:
    """A ranker of the native module as an object of its class."""
    import json

    ranker = class_of(native.kind())()
    provenance = json.loads(native.provenance())
    settled = json.loads(native.settled())
    known = ranker._defaults()
    for name, value in settled.items():
        if python_name(name) in known:
            setattr(ranker, python_name(name), value)
    if provenance.get("seed") is not None:
        ranker.seed = provenance["seed"]
    ranker._native = native
    ranker._learned()
    return ranker
