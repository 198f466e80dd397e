"""Simulated data: a shop, and the click log of a search engine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from . import _matchrank
from ._values import PathLike, encoded, path_text


class Simulation:
    """Files of a simulation.

    Attributes:
        path: The folder.
        statistics: Counts of what was simulated.
    """

    __slots__ = ("path", "statistics")

    def __init__(self, path: PathLike, statistics: dict[str, Any]) -> None:
        self.path = Path(path)
        self.statistics = statistics

    @property
    def sources(self) -> dict[str, str]:
        """The files by the arguments of ``Dataset.ingest``."""
        names = {
            "clicks": "clicks.csv",
            "documents": "documents.jsonl",
            "queries": "queries.tsv",
            "validation": "validation.qrels",
            "test": "test.qrels",
        }
        return {role: str(self.path / name) for role, name in names.items()}

    def __repr__(self) -> str:
        return f"Simulation({str(self.path)!r})"


def shop(
    out: PathLike,
    *,
    products: int | None = None,
    queries: int | None = None,
    clicks: int | None = None,
    seed: int = 1,
) -> Simulation:
    """Simulates a shop: a catalogue and a click log in English words, with graded judgments.

    Args:
        out: Folder to write to.
        products: Products of the catalogue.
        queries: Distinct queries of the log.
        clicks: Clicks; the last session of a query may add a few.
        seed: Seed of everything random.
    """
    found = _matchrank.simulate_shop(path_text(out), seed, products, queries, clicks)
    return Simulation(out, json.loads(found))


def clicks(
    out: PathLike,
    *,
    preset: str = "small",
    seed: int = 1,
    queries: int | None = None,
    documents: int | None = None,
    words: int | None = None,
    topics: int | None = None,
    concepts: int | None = None,
    judged: int | None = None,
    clicked_per_query: float | None = None,
    words_per_query: float | None = None,
    words_per_document: float | None = None,
    own_words: float | None = None,
    position_bias: float | None = None,
    noise: float | None = None,
    unseen: float | None = None,
    rows: str | None = None,
) -> Simulation:
    """Simulates the click log of a search engine, with graded judgments.

    Args:
        out: Folder to write to.
        preset: ``small`` (2,000 queries), ``one-week`` (94,022) or ``half-year`` (6,372,254).
        seed: Seed of everything random.
        queries: Queries, in place of those of the preset; the other arguments are named as on the command line.
        documents: Documents.
        words: Words.
        topics: Topics.
        concepts: Concepts.
        judged: Judged queries.
        clicked_per_query: Mean number of clicked documents of a query.
        words_per_query: Mean number of words of a query.
        words_per_document: Mean number of words of a document.
        own_words: Share of words that queries and documents do not share.
        position_bias: Exponent of the bias by position.
        noise: Probability of a click on a document that is not relevant.
        unseen: Share of the judged queries that the log does not have.
        rows: ``sessions`` or ``pairs``.
    """
    arguments = {
        name: value for name, value in locals().items() if name not in ("out", "seed") and value is not None
    }
    return Simulation(out, json.loads(_matchrank.simulate_clicks(path_text(out), encoded(arguments), seed)))
