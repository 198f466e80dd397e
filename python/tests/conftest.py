"""Data that tests share: a small simulated shop, and the program to compare with."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import matchrank as mr
import numpy as np
import pytest

PROGRAM = os.environ.get("MATCHRANK_PROGRAM") or shutil.which("matchrank")


@pytest.fixture(scope="session")
def program():
    """Runs the program and returns its standard output."""
    if PROGRAM is None:
        pytest.skip("the program is not built; set MATCHRANK_PROGRAM")

    def run(*arguments: object, check: bool = True) -> str:
        command = [PROGRAM, *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert not check or done.returncode == 0, f"{command}: {done.stderr}"
        return done.stdout

    run.path = PROGRAM
    return run


@pytest.fixture(scope="session")
def log(tmp_path_factory) -> mr.simulate.Simulation:
    """Files of a simulated shop."""
    return mr.simulate.shop(tmp_path_factory.mktemp("log"), products=600, queries=500, clicks=6000)


@pytest.fixture(scope="session")
def shop(log, tmp_path_factory) -> mr.Dataset:
    """The shop as a dataset."""
    return mr.Dataset.ingest(**log.sources, out=tmp_path_factory.mktemp("data") / "shop")


@pytest.fixture(scope="session")
def bm25(shop) -> mr.MatchingModel:
    return mr.Bm25(k1=0.9, b=0.4).fit(shop)


@pytest.fixture(scope="session")
def pls(shop) -> mr.MatchingModel:
    return mr.Pls(d=12).fit(shop)


def made_lists(n_queries: int, seed: int, n_features: int = 6):
    """Features, grades and queries whose first features tell the grade."""
    random = np.random.default_rng(seed)
    lengths = random.integers(5, 12, n_queries)
    qid = np.repeat(np.arange(n_queries) + 100, lengths)
    x = random.normal(size=(len(qid), n_features)).astype(np.float32)
    latent = x[:, 0] + 0.5 * x[:, 1] + 0.3 * random.normal(size=len(qid))
    y = np.clip(np.round(latent + 1), 0, 3).astype(np.float32)
    return x, y, qid


def write_letor(path: Path, x, y, qid) -> Path:
    """Writes lists as a LETOR file, with all digits."""
    with path.open("w") as file:
        for row, grade, query in zip(x, y, qid, strict=True):
            features = " ".join(f"{i + 1}:{float(value)!r}" for i, value in enumerate(row))
            file.write(f"{grade:g} qid:{query} {features}\n")
    return path


@pytest.fixture(scope="session")
def lists():
    return made_lists(60, 1)


@pytest.fixture(scope="session")
def valid_lists():
    return made_lists(30, 2)
