"""The engine's tables of models and rankers, read once."""

from __future__ import annotations

import functools
import json
from typing import Any

from . import _matchrank


@functools.cache
def tables() -> dict[str, Any]:
    """Kinds of models and rankers with their parameters, and the dialects of measures."""
    return json.loads(_matchrank.kinds())
