"""Memory and time of ingesting a data frame of ten million rows.

    python ingest.py FOLDER [ROWS] [pandas|polars|pyarrow|parquet]
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import threading
import time

import matchrank as mr
import numpy as np

FOLDER = sys.argv[1]
ROWS = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000_000
KIND = sys.argv[3] if len(sys.argv) > 3 else "pandas"


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def table():
    """A log in Arrow's memory: query, document, position and time."""
    import pyarrow as pa

    rng = np.random.default_rng(1)
    queries = pa.array([f"query {i} words" for i in range(100_000)])
    documents = pa.array([f"product-{i:06}" for i in range(50_000)])
    return pa.table(
        {
            "query": queries.take(pa.array(rng.zipf(1.2, ROWS) % 100_000)),
            "document": documents.take(pa.array(rng.integers(0, 50_000, ROWS))),
            "position": pa.array(rng.integers(1, 11, ROWS)),
            "time": pa.array(rng.integers(1_700_000_000, 1_710_000_000, ROWS)),
        }
    )


if __name__ == "__main__":
    clicks = table()
    size = clicks.nbytes
    if KIND == "pandas":
        clicks = clicks.to_pandas()
    elif KIND == "polars":
        import polars

        clicks = polars.from_arrow(clicks)
    elif KIND == "parquet":
        import pyarrow.parquet

        path = os.path.join(FOLDER, "clicks.parquet")
        pyarrow.parquet.write_table(clicks, path)
        clicks = path
    documents = {"id": [f"product-{i:06}" for i in range(50_000)], "title": [f"title {i % 997}" for i in range(50_000)]}
    import pyarrow

    documents = pyarrow.table(documents)
    peak, done = [resident()], threading.Event()

    def watch() -> None:
        while not done.wait(0.01):
            peak[0] = max(peak[0], resident())

    before = resident()
    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        began = time.perf_counter()
        made = mr.Dataset.ingest(clicks=clicks, documents=documents, out=os.path.join(folder, "d"), memory=256)
        spent = time.perf_counter() - began
        print(
            f"{KIND}: {ROWS:,} rows, {size / 1e6:.0f} MB in Arrow's form; {spent:.1f} s, memory grew by "
            f"{(peak[0] - before) / 1e6:.0f} MB at its peak (256 MiB of them for sums), hash {made.content_hash[:12]}",
            flush=True,
        )
    done.set()
    watcher.join()
