"""Writes ridge_start.json: a ridge start of labelled rows, in NumPy.

    pip install numpy && python make_ridge_start.py

V minimises |X V - (Z - 1 p')|^2 + alpha |V|^2, Z the indicator of the classes and p their shares; W = V V'. The
entries with the largest |W_ij| rms_i rms_j are kept. Everything is dense and in float64.
"""

import json
import pathlib

import numpy as np

rng = np.random.default_rng(18)
n, words, classes = 14, 9, 3
X = np.round(rng.uniform(0.1, 1.0, (n, words)) * (rng.random((n, words)) < 0.45), 3)
labels = np.arange(n) % classes
X[np.arange(n), labels * 2] += 0.5
out = {"made_with": f"numpy {np.__version__}", "X": X.tolist(), "labels": labels.tolist(), "cases": []}
Z = np.eye(classes)[labels]
rms = np.sqrt((X**2).mean(axis=0))
for alpha in [0.1, 1.0]:
    V = np.linalg.solve(X.T @ X + alpha * np.eye(words), X.T @ (Z - Z.mean(axis=0)))
    W = V @ V.T
    sizes = np.abs(W) * np.outer(rms, rms)
    kept = []
    for count in [11, 30]:
        # W is symmetric, so entries beside the diagonal come in pairs: `count` may be one too many.
        largest_dropped = np.sort(sizes.ravel())[::-1][count]
        kept.append({"count": count, "W": np.where(sizes > largest_dropped * (1 + 1e-9), W, 0.0).tolist()})
    out["cases"].append({"alpha": alpha, "V": V.tolist(), "W": W.tolist(), "kept": kept})
out["rms"] = rms.tolist()
(pathlib.Path(__file__).parent / "ridge_start.json").write_text(json.dumps(out) + "\n")
