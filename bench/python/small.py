"""Time of the import, and time from Ctrl-C to KeyboardInterrupt during training.

    python small.py FOLDER
"""

from __future__ import annotations

import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

import matchrank as mr

FOLDER = Path(sys.argv[1])
KINDS = ["SparsePreference(tuples=50_000_000)", "SvdFeature(d=200, iterations=500)", "Bltm(topics=300, iterations=500)"]

IMPORT = "import time; began = time.perf_counter(); import matchrank; print(time.perf_counter() - began)"

TRAIN = """
import sys, time, matchrank as mr
shop = mr.Dataset.open({path!r})
print("ready", flush=True)
try:
    mr.{model}.fit(shop)
except KeyboardInterrupt:
    print(time.time(), flush=True)
"""


def imported() -> float:
    return float(subprocess.run([sys.executable, "-c", IMPORT], capture_output=True, text=True, check=True).stdout)


def interrupted(model: str, path: Path, after: float) -> float:
    code = TRAIN.format(path=str(path), model=model)
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    process.stdout.readline()
    time.sleep(after)
    sent = time.time()
    process.send_signal(signal.SIGINT)
    took = float(process.stdout.readline()) - sent
    process.wait()
    return took


if __name__ == "__main__":
    times = [imported() for _ in range(11)]
    print(f"import matchrank: {1000 * min(times):.0f} ms, median {1000 * statistics.median(times):.0f} ms")
    path = FOLDER / "shop"
    if not path.exists():
        log = mr.simulate.clicks(FOLDER / "log", queries=40_000, documents=50_000, words=30_000, topics=100)
        mr.Dataset.ingest(**log.sources, out=path)
    for model in KINDS:
        took = [interrupted(model, path, after) for after in (0.5, 1.0, 2.0, 3.0)]
        print(f"{model}: KeyboardInterrupt after {', '.join(f'{seconds:.2f}' for seconds in took)} s", flush=True)
