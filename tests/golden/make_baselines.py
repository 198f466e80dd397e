"""Writes baselines.json: a few steps of SSI and SVDFeature and a few iterations of BLTM, in NumPy.

    pip install numpy && python make_baselines.py

Dense matrices and float64 throughout, each formula as the papers have it; nothing is shared with the Rust code. The
steps are AdaGrad's with one rate for every row and sixteen columns (h += mean of the squared gradient over the
sixteen, columns that are not there counting as 0; row -= rate * gradient / sqrt(h)).
"""

import json
import pathlib

import numpy as np

rng = np.random.default_rng(11)
D = 20  # two blocks of columns, the second one not full


def sparse(rows, columns, share):
    values = rng.uniform(0.2, 1.0, (rows, columns)) * (rng.random((rows, columns)) < share)
    values[np.arange(rows), rng.integers(0, columns, rows)] = 1.0  # no row is empty
    values[rng.integers(0, rows, columns), np.arange(columns)] = 0.5  # every feature occurs
    return np.round(values, 3)


class AdaGrad:
    def __init__(self, rows, width, rate):
        self.rows, self.width, self.rate = rows, width, rate
        self.h = np.zeros((len(rows), -(-rows.shape[1] // width)))

    def step(self, gradient, touched):
        for u in np.flatnonzero(touched):
            for block in range(self.h.shape[1]):
                at = slice(block * self.width, (block + 1) * self.width)
                g = gradient[u, at]
                square = (g**2).sum() / self.width
                if square > 0:
                    self.h[u, block] += square
                    self.rows[u, at] -= self.rate * g / np.sqrt(self.h[u, block])


def start(n):
    return np.round(rng.uniform(-0.5, 0.5, (n, D)), 3)


def occurrences(matrix, items):
    """In how many of the items each feature occurs."""
    return (matrix[sorted(items)] != 0).sum(axis=0)


def ssi():
    """f = q' (U' V + I) d over 5 shared words, the sixth feature of each side being its own."""
    queries, documents = sparse(4, 6, 0.4), sparse(5, 6, 0.4)
    u, v = start(6), start(6)
    params = {"d": D, "margin": 1.0, "rate": 0.1, "l2": 0.05, "batch": 3, "identity": True}
    tuples = []
    while len(tuples) < 12:
        q, more, less = rng.integers(0, 4), rng.integers(0, 5), rng.integers(0, 5)
        if more != less:
            tuples.append([int(q), int(more), int(less)])
    out = {"queries": queries.tolist(), "documents": documents.tolist(), "n_shared": 5, "params": params}
    out |= {"tuples": tuples, "start_x": u.tolist(), "start_y": v.tolist(), "loss": 0.0, "violations": 0}
    shared = np.diag([1.0] * 5 + [0.0])
    ada_u, ada_v = AdaGrad(u.copy(), 16, params["rate"]), AdaGrad(v.copy(), 16, params["rate"])
    for first in range(0, len(tuples), params["batch"]):
        batch = tuples[first : first + params["batch"]]
        f = queries @ (ada_u.rows @ ada_v.rows.T + shared) @ documents.T
        gu, gv = np.zeros_like(u), np.zeros_like(v)
        for q, more, less in batch:
            loss = params["margin"] - f[q, more] + f[q, less]
            if loss > 0:
                out["loss"] += loss
                out["violations"] += 1
                difference = documents[more] - documents[less]
                gu -= np.outer(queries[q], ada_v.rows.T @ difference)
                gv -= np.outer(difference, ada_u.rows.T @ queries[q])
        n_u = occurrences(queries, {q for q, _, _ in batch})
        n_v = occurrences(documents, {d for _, more, less in batch for d in (more, less)})
        gu += params["l2"] * n_u[:, None] * ada_u.rows
        gv += params["l2"] * n_v[:, None] * ada_v.rows
        ada_u.step(gu, n_u > 0)
        ada_v.step(gv, n_v > 0)
    scores = queries @ (ada_u.rows @ ada_v.rows.T + shared) @ documents.T
    return out | {"lx": ada_u.rows.tolist(), "ly": ada_v.rows.tolist(), "scores": scores.tolist()}


def svd_feature():
    """r^ = mu + b' x + c' y + (P' x)' (Q' y), all pairs in one batch, no pairs without a response."""
    x, y = sparse(4, 6, 0.4), sparse(5, 7, 0.4)
    r = np.round(rng.uniform(1, 9, (4, 5)) * (rng.random((4, 5)) < 0.6))
    r[0, 0] = 3.0
    params = {"d": D, "rate": 0.1, "l2": 0.05, "batch": 100, "negatives": 0, "target": "log"}
    p, q = start(6), start(7)
    out = {"x": x.tolist(), "y": y.tolist(), "r": r.tolist(), "params": params, "epochs": 6}
    out |= {"start_x": p.tolist(), "start_y": q.tolist(), "losses": []}
    target, known = np.log1p(r), r > 0
    mu = target[known].mean()
    ada = [AdaGrad(rows, width, params["rate"]) for rows, width in
           [(p.copy(), 16), (q.copy(), 16), (np.zeros((6, 1)), 1), (np.zeros((7, 1)), 1)]]
    n_x = occurrences(x, set(np.flatnonzero(known.any(axis=1))))
    n_y = occurrences(y, set(np.flatnonzero(known.any(axis=0))))

    def predict():
        p, q, b, c = (table.rows for table in ada)
        return mu + x @ b + (y @ c).T + x @ p @ q.T @ y.T

    for _ in range(out["epochs"]):
        error = np.where(known, predict() - target, 0.0)
        out["losses"].append((error**2).sum() / known.sum())
        p, q, b, c = (table.rows.copy() for table in ada)
        gradients = [
            x.T @ error @ (y @ q) + params["l2"] * n_x[:, None] * p,
            y.T @ error.T @ (x @ p) + params["l2"] * n_y[:, None] * q,
            x.T @ error.sum(axis=1, keepdims=True) + params["l2"] * n_x[:, None] * b,
            y.T @ error.sum(axis=0)[:, None] + params["l2"] * n_y[:, None] * c,
        ]
        for table, gradient, n in zip(ada, gradients, [n_x, n_y, n_x, n_y]):
            table.step(gradient, n > 0)
    p, q, b, c = (table.rows for table in ada)
    return out | {"mu": mu, "lx": p.tolist(), "ly": q.tolist(), "bx": b[:, 0].tolist(), "by": c[:, 0].tolist(),
                  "scores": predict().tolist()}


def bltm():
    topics, words = 3, 8
    queries = rng.poisson(0.5, (4, words)).astype(float)
    documents = rng.poisson(0.9, (5, words)).astype(float)
    queries[:, 7] = 0  # a word that only documents have
    documents[:, 6] = 0  # a word that only queries have
    queries[np.arange(4), [0, 1, 2, 6]] += 1
    documents[np.arange(5), [3, 4, 5, 7, 0]] += 2
    weights = np.round(rng.uniform(0.5, 3, (4, 5)), 1) * (rng.random((4, 5)) < 0.6)
    weights[0, 0], weights[3, 4] = 1.0, 2.0
    params = {"topics": topics, "iterations": 6, "alpha": 0.1, "beta": 0.05, "steps": 4, "document": 0.25, "topic": 0.45}
    clicked_q, clicked_d = np.flatnonzero(weights.any(axis=1)), np.flatnonzero(weights.any(axis=0))
    used_x = np.flatnonzero(queries[clicked_q].any(axis=0))
    used_y = np.flatnonzero(documents[clicked_d].any(axis=0))

    def begin(used):
        p = np.zeros((words, topics))
        p[used] = rng.uniform(0.1, 1, (len(used), topics))
        return p / p.sum(axis=0)

    px, py = begin(used_x), begin(used_y)
    out = {"queries": queries.tolist(), "documents": documents.tolist(), "weights": weights.tolist(), "params": params}
    out |= {"start_x": px.tolist(), "start_y": py.tolist(), "log_likelihoods": []}
    pairs = [(i, j, weights[i, j]) for j in range(5) for i in range(4) if weights[i, j] > 0]
    thetas = np.full((len(pairs), topics), 1 / topics)

    def shares(theta, n, p):
        """Expected number of words from each topic."""
        joint = p * theta
        s = joint.sum(axis=1, keepdims=True)
        return (n[:, None] * np.divide(joint, s, out=np.zeros_like(joint), where=s > 0))

    for _ in range(params["iterations"]):
        new_x, new_y = np.zeros_like(px), np.zeros_like(py)
        likelihood = total = 0.0
        for number, (i, j, c) in enumerate(pairs):
            theta = thetas[number]
            theta = params["alpha"] + shares(theta, queries[i], px).sum(axis=0) + shares(theta, documents[j], py).sum(axis=0)
            theta = thetas[number] = theta / theta.sum()
            new_x += c * shares(theta, queries[i], px)
            new_y += c * shares(theta, documents[j], py)
            for n, p in [(queries[i], px), (documents[j], py)]:
                likelihood += c * (n[n > 0] * np.log((p * theta).sum(axis=1)[n > 0])).sum()
                total += c * n.sum()
        out["log_likelihoods"].append(likelihood / total)
        for new, used in [(new_x, used_x), (new_y, used_y)]:
            new[used] += params["beta"]
        px, py = new_x / new_x.sum(axis=0), new_y / new_y.sum(axis=0)
    c = np.array([c for _, _, c in pairs])
    prior = (thetas * c[:, None]).sum(axis=0) / c.sum()
    background = (documents.sum(axis=0) + 1) / (documents.sum() + words)
    scores, found = np.zeros((4, 5)), []
    for j in range(5):
        theta = prior
        known = np.where(np.isin(np.arange(words), used_y), documents[j], 0)
        for _ in range(params["steps"] if known.any() else 0):
            theta = params["alpha"] + shares(theta, known, py).sum(axis=0)
            theta = theta / theta.sum()
        found.append(theta.tolist())
        own = documents[j] / documents[j].sum()
        rest = 1 - params["document"] - params["topic"]
        evidence = np.log1p((params["document"] * own + params["topic"] * px @ theta) / (rest * background))
        scores[:, j] = queries @ evidence
    return out | {"thetas": thetas.tolist(), "prior": prior.tolist(), "px": px.tolist(), "py": py.tolist(),
                  "background": background.tolist(), "topics_of": found, "scores": scores.tolist()}


out = {"made_with": f"numpy {np.__version__}", "ssi": ssi(), "svd_feature": svd_feature(), "bltm": bltm()}
pathlib.Path(__file__).with_name("baselines.json").write_text(json.dumps(out) + "\n")
