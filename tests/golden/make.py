"""Checks that the scripts of this folder still make its golden files.

    pip install numpy && python make.py          the scripts that need NumPy alone
    python make.py make_tf_idf.py dialects/make.py      others; each names what it needs

Runs each script on a copy of this folder and compares what it wrote with the files here. To write a file anew, run
its script. Numbers may differ by TOLERANCE of their size, or of 1 where they are smaller; certificates of optimality
(`*_gap`) need only be below it, and the version in `made_with` may differ.
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
NUMPY_ALONE = ["make_baselines.py", "make_matching.py", "make_metrics.py", "make_qsvm.py", "make_ridge_start.py", "make_rm3.py",
               "make_slam.py"]
TOLERANCE = 1e-9


def difference(old, new, at):
    """The largest difference between two JSON values, with its place; different shapes differ infinitely."""
    key = at.rsplit("/", 1)[-1]
    if isinstance(old, dict) and isinstance(new, dict) and old.keys() == new.keys():
        return max((difference(old[k], new[k], f"{at}/{k}") for k in old if k != "made_with"), default=(0.0, at))
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return max((difference(a, b, f"{at}/{i}") for i, (a, b) in enumerate(zip(old, new))), default=(0.0, at))
    if type(old) in (int, float) and type(new) in (int, float):
        apart = max(abs(old), abs(new)) if key.endswith("_gap") else abs(old - new) / max(1, abs(old), abs(new))
        return (apart if apart == apart else float("inf")), at
    return (0.0 if old == new else float("inf")), at


def files(folder):
    return {path.relative_to(folder): path for path in folder.rglob("*.json") if path.parent.name in ("golden", "dialects")}


failed = False
for script in sys.argv[1:] or NUMPY_ALONE:
    with tempfile.TemporaryDirectory() as scratch:
        copy = pathlib.Path(scratch) / "golden"
        shutil.copytree(HERE, copy, ignore=shutil.ignore_patterns("datasets", "comparisons", "model_files", "__pycache__"))
        before = {name: path.stat().st_mtime_ns for name, path in files(copy).items()}
        subprocess.run([sys.executable, script], cwd=copy, check=True)
        written = [name for name, path in files(copy).items() if path.stat().st_mtime_ns != before.get(name)]
        if not written:
            failed = True
            print(f"{script}: wrote nothing")
        for name in written:
            worst, at = difference(json.loads((HERE / name).read_text()), json.loads((copy / name).read_text()), str(name))
            good = worst <= TOLERANCE
            failed |= not good
            print(f"{script}: {name} {'agrees' if good else 'DIFFERS'}; largest difference {worst:.1e} at {at}")
sys.exit(failed)
