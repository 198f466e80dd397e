"""Writes tf_idf.json: what scikit-learn's TfidfTransformer makes of a small count matrix.

    pip install scikit-learn && python make_tf_idf.py

`idf: bm25` is not in scikit-learn; its rows are computed here from the formula with numpy.
"""

import itertools
import json
import pathlib

import numpy as np
import sklearn
from sklearn.feature_extraction.text import TfidfTransformer

rng = np.random.default_rng(7)
counts = rng.poisson(0.6, size=(8, 6)).astype(float)
counts[:, 0] = np.maximum(counts[:, 0], 1)  # a term of every document
counts[3] = 0  # an empty document
counts[3, 0] = 0
n, df = len(counts), (counts > 0).sum(axis=0)

cases = []
for tf, idf, norm in itertools.product(["count", "log", "binary"], ["none", "smooth", "plain", "bm25"], ["l2", "none"]):
    tfs = (counts > 0).astype(float) if tf == "binary" else counts
    if idf == "bm25":
        tfs = np.where(tfs > 0, 1 + np.log(np.maximum(tfs, 1)), 0) if tf == "log" else tfs
        rows = tfs * np.log1p((n - df + 0.5) / (df + 0.5))
        if norm == "l2":
            lengths = np.linalg.norm(rows, axis=1, keepdims=True)
            rows = rows / np.where(lengths > 0, lengths, 1)
    else:
        transformer = TfidfTransformer(
            norm=None if norm == "none" else norm,
            use_idf=idf != "none",
            smooth_idf=idf == "smooth",
            sublinear_tf=tf == "log",
        )
        # The idf of scikit-learn counts non-zero entries, so it is the same for every tf.
        rows = transformer.fit(counts).transform(tfs).toarray()
    cases.append({"tf": tf, "idf": idf, "norm": norm, "rows": rows.tolist()})

out = {"made_with": f"scikit-learn {sklearn.__version__}", "counts": counts.tolist(), "df": df.tolist(), "cases": cases}
pathlib.Path(__file__).with_name("tf_idf.json").write_text(json.dumps(out) + "\n")
