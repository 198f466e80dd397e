"""Writes matching.json and bm25.json: small matching problems and their solutions, in NumPy.

    pip install numpy && python make_matching.py

The inputs (X, Y, R, the start Ly0, documents, queries, tuples, parameters) were drawn once and are read from
matching.json. Every result is computed from them here, densely and in float64, each formula as the papers have it;
nothing is shared with the Rust code.
"""

import json
import pathlib

import numpy as np

HERE = pathlib.Path(__file__).parent
given = json.loads((HERE / "matching.json").read_text())
X, Y, R, Ly0 = (np.array(given[name]) for name in ["X", "Y", "R", "Ly0"])


def click_matrix():
    """W = (1/n) sum_i (1/n_i) sum_j r_ij x_i y_ij', over the n queries with a response, and W centred."""
    answered = np.flatnonzero((R > 0).any(axis=1))
    n = len(answered)
    documents = np.array([R[i] @ Y / (R[i] > 0).sum() for i in answered])  # y'_i
    W = X[answered].T @ documents / n
    x_mean, y_mean = X[answered].mean(axis=0), documents.mean(axis=0)
    return W, W - np.outer(x_mean, y_mean), x_mean, y_mean


def half(o, threshold, theta):
    """Rows of one side: the soft threshold, scaled to length theta; a zero row stays zero."""
    rows = np.sign(o) * np.maximum(np.abs(o) - threshold, 0)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(theta * rows, lengths, out=np.zeros_like(rows), where=lengths > 0)


def rmls(case, W):
    Ly, iterations = Ly0, []
    for _ in case["iterations"]:
        Lx = half(W @ Ly, case["beta"], case["theta_x"])
        Ly = half(W.T @ Lx, case["gamma"], case["theta_y"])
        objective = -np.trace(Lx.T @ W @ Ly) + case["beta"] * np.abs(Lx).sum() + case["gamma"] * np.abs(Ly).sum()
        iterations.append({"Lx": Lx.tolist(), "Ly": Ly.tolist(), "objective": float(objective),
                           "scores": (X @ Lx @ Ly.T @ Y.T).tolist()})
    return case | {"iterations": iterations}


def pls(case, W):
    U, s, V = np.linalg.svd(W)
    d = case["d"]
    return case | {"singular_values": s[:d].tolist(), "scores": (X @ U[:, :d] @ V[:d] @ Y.T).tolist()}


def lsi_dt(case):
    D, q, d = np.array(case["D"]), np.array(case["q"]), case["d"]
    V = np.linalg.svd(D)[2][:d]
    scores = q @ V.T @ V @ D.T
    lengths = np.outer(np.linalg.norm(q @ V.T, axis=1), np.linalg.norm(D @ V.T, axis=1))
    cosines = np.divide(scores, lengths, out=np.zeros_like(scores), where=lengths > 0)
    return case | {"scores": scores.tolist(), "cosines": cosines.tolist()}


def lsi_qd(case):
    U, s, V = np.linalg.svd(np.array(case["R"]))
    d = case["d"]
    return case | {"scores": (U[:, :d] * s[:d] @ V[:d]).tolist()}


def random_walk(case):
    """Backward walk: the share of each document among all starts, given that the walk ends at the query."""
    nq, nd = R.shape
    A = np.zeros((nq + nd, nq + nd))
    A[:nq, nq:], A[nq:, :nq] = R, R.T
    clicks = A.sum(axis=1, keepdims=True)
    s = case["self_transition"]
    A = np.divide((1 - s) * A, clicks, out=np.zeros_like(A), where=clicks > 0)
    A[np.diag_indices_from(A)] = np.where(clicks[:, 0] > 0, s, 1)
    ends = np.linalg.matrix_power(A, case["steps"])
    return case | {"scores": (ends / ends.sum(axis=0))[nq:, :nq].T.tolist()}


def bm25(given):
    docs, N = given["docs"], len(given["docs"])
    mean = sum(map(len, docs)) / N

    def score(query, doc, k1, b):
        total = 0
        for word in query:
            df = sum(word in other for other in docs)
            tf = doc.count(word)
            idf = np.log(1 + (N - df + 0.5) / (df + 0.5))
            total += idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * len(doc) / mean)) if tf else 0
        return float(total)

    cases = [case | {"scores": [[score(q, d, case["k1"], case["b"]) for d in docs] for q in given["queries"]]}
             for case in given["cases"]]
    return given | {"cases": cases}


def sparse_preference(given):
    docs, C, T, lambda_ = np.array(given["docs"]), given["C"], given["T"], given["lambda_"]

    def learn(W, tuples, rate, shrink=False, allowed=True):
        W, since = W.copy(), 0.0
        for t, (q, better, worse) in enumerate(tuples, 1):
            eta, difference = rate(t), docs[better] - docs[worse]
            if docs[q] @ W @ difference < 1:
                W += eta * np.outer(docs[q], difference) * allowed
            since += eta
            if shrink and t % T == 0:
                W = np.sign(W) * np.maximum(np.abs(W) - lambda_ * since, 0)
                since = 0.0
        return W

    start, tuples = np.eye(docs.shape[1]), given["tuples"]
    decay = lambda t: C / np.sqrt(t)
    sparse = learn(start, tuples, decay, shrink=True)
    results = {
        "dense_decay": learn(start, tuples, decay),
        "dense_fixed_001": learn(start, tuples, lambda t: 0.01),
        "sparse": sparse,
        "sparse_after_8": learn(start, tuples[:8], decay, shrink=True),
        "refit_warm": learn(sparse, tuples, decay, allowed=sparse != 0),
    }
    return given | {name: W.tolist() for name, W in results.items()}


def bounds(case):
    """Theorems 4 and 5, with n_y the harmonic mean of the numbers of documents."""
    counts = np.array(case["n_y_counts"])
    n_x, n_y = case["n_x"], len(counts) / (1 / counts).sum()
    d, lx, ly, tx, ty = (case[name] for name in ["d", "lambda_x", "lambda_y", "theta_x", "theta_y"])
    share = 1 / np.sqrt(n_x * n_y) + 1 / np.sqrt(n_x)

    def bound(B, C):
        return float((2 * C * case["R"] + case["R"] * B * np.sqrt(2 * np.log(1 / case["delta"]))) * share)

    B = np.sqrt(case["m_x"] * case["m_y"]) * min(d * lx * ly, tx * ty)
    C = np.sqrt(case["d_x"] * case["d_y"]) * min(lx * ly, tx * ty)
    return case | {"n_y_harmonic": float(n_y), "pls": bound(1, np.sqrt(d)), "rmls": bound(B, C)}


W, centered, x_mean, y_mean = click_matrix()
out = given | {
    "W": W.tolist(),
    "W_centered": centered.tolist(),
    "x_mean": x_mean.tolist(),
    "y_mean": y_mean.tolist(),
    "rmls": [rmls(case, centered if case["center"] else W) for case in given["rmls"]],
    "pls": [pls(case, centered if case["center"] else W) for case in given["pls"]],
    "lsi_dt": lsi_dt(given["lsi_dt"]),
    "lsi_qd": lsi_qd(given["lsi_qd"]),
    "random_walk": [random_walk(case) for case in given["random_walk"]],
    "bm25": bm25(given["bm25"]),
    "sparse_preference": sparse_preference(given["sparse_preference"]),
    "bounds": [bounds(case) for case in given["bounds"]],
}
(HERE / "matching.json").write_text(json.dumps(out, indent=1))
(HERE / "bm25.json").write_text(json.dumps(out["bm25"]) + "\n")
