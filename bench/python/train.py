"""Training from Python next to the command line: wall-clock time and bytes.

    python train.py PROGRAM FOLDER
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import matchrank as mr

PROGRAM, FOLDER = sys.argv[1], Path(sys.argv[2])
KINDS = [("rmls", {"d": 200}), ("pls", {"d": 200}), ("svdfeature", {"d": 100}), ("bltm", {"topics": 50})]
REPEATS = 3


def timed(work) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / "shop"
    if not path.exists():
        log = mr.simulate.clicks(FOLDER / "log", queries=40_000, documents=50_000, words=30_000, topics=100)
        mr.Dataset.ingest(**log.sources, out=path)
    print(f"{mr.Dataset.open(path)!r}, {mr.threads()} threads")
    for kind, settings in KINDS:
        options = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
        file = FOLDER / f"{kind}.model"
        command = [PROGRAM, "train", kind, "--data", path, "--out", file, "--quiet", *options]
        models: list = []
        # One after the other, so that both meet the same machine.
        theirs, own = [], []
        for _ in range(REPEATS):
            theirs.append(timed(lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL)))
            own.append(timed(lambda: models.append(mr.models.CLASSES[kind](**settings).fit(path))))
        same = models[-1].to_bytes() == file.read_bytes()
        print(
            f"{kind:12} command line {min(theirs):6.2f} s  python {min(own):6.2f} s  "
            f"({min(own) / min(theirs) - 1:+.1%})  same bytes: {same}",
            flush=True,
        )
