"""Writes qsvm.json: query-dependent ranking on four small queries, in NumPy.

    pip install numpy && python make_qsvm.py

Queries, documents, labels and parameters were drawn once and are read from qsvm.json; its `conventions` say what is
solved. Solutions come from the dual, by coordinate descent and then by one linear system for the multipliers that are
strictly between their bounds. Nothing is shared with the Rust code.

`paper_admm_*` (where a run of the paper's ADMM stopped; its step size is not known) is carried over, after checking that
its objective and its scores are those of the solution to 1e-9 and 1e-4.
"""

import itertools
import json
import pathlib

import numpy as np

HERE = pathlib.Path(__file__).parent
given = json.loads((HERE / "qsvm.json").read_text())
Q, q0, probe = (np.array(given[name]) for name in ["Q", "q0", "probe"])
X = [np.array(documents) for documents in given["X"]]
documents = np.concatenate(X)

distances = np.linalg.norm(Q - q0, axis=1)
h = float(np.median(distances))
width = float(np.median([np.linalg.norm(a - b) for a, b in itertools.combinations(documents, 2)]))


def nearest(k):
    return np.isin(np.arange(len(Q)), np.argsort(distances, kind="stable")[:k])


near = np.exp(-(distances**2) / (2 * h**2)) / np.sqrt(2 * np.pi) * nearest(3)
weights = {"rank": np.ones(len(Q)), "knn_k2": nearest(2) * 1.0, "q_trunc3": near, "q_trunc3_hp": near / h ** len(q0)}


def kernel(kind, a, b):
    if kind == "linear":
        return a @ b.T
    return np.exp(-((a[:, None] - b[None]) ** 2).sum(axis=2) / width)


def pairs(pi):
    """(query, better, worse, c) of every unordered pair of different labels in a query of positive weight."""
    for i, labels in enumerate(given["Y"]):
        N = len(labels)
        for j, l in itertools.combinations(range(N), 2):
            if pi[i] > 0 and labels[j] != labels[l]:
                better, worse = (j, l) if labels[j] > labels[l] else (l, j)
                yield i, better, worse, 2 * pi[i] / (len(Q) * N * (N - 1))


def solve(K, c, lam):
    """min lam/2 |f|^2 + sum c (1 - margin)_+ with margins K a / lam: the multipliers a in [0, c], objective and gap."""
    a = np.zeros(len(c))
    Ka = np.zeros(len(c))

    def value_and_gap(a):
        norm = a @ K @ a / lam
        primal = norm / 2 + c @ np.maximum(0, 1 - K @ a / lam)
        return primal, primal - (a.sum() - norm / 2)

    for _ in range(3000):
        for p in range(len(c)):
            new = min(max(a[p] + (lam - Ka[p]) / K[p, p], 0), c[p])
            Ka += (new - a[p]) * K[:, p]
            a[p] = new
    free = (a > 1e-9 * c) & (a < (1 - 1e-9) * c)
    exact = np.where(free, 0, np.where(a > c / 2, c, 0))
    exact[free] = a[free] + np.linalg.lstsq(K[np.ix_(free, free)], lam - K[free] @ np.where(free, a, exact), rcond=None)[0]
    inside = (exact >= 0).all() and (exact <= c).all()
    best = exact if inside and value_and_gap(exact)[1] < value_and_gap(a)[1] else a
    return best, *map(float, value_and_gap(best))


def scoring(case):
    chosen = list(pairs(weights[case["weights"]]))
    better = np.array([X[i][j] for i, j, _, _ in chosen])
    worse = np.array([X[i][l] for i, _, l, _ in chosen])
    c = np.array([c for *_, c in chosen])
    k = lambda a, b: kernel(case["kernel"], a, b)
    K = k(better, better) - k(better, worse) - k(worse, better) + k(worse, worse)
    a, value, gap = solve(K, c, case["lam"])
    scores = a @ (k(better, probe) - k(worse, probe)) / case["lam"]
    assert abs(case["paper_admm_objective"] - value) < 1e-9 * value, (case, value)
    assert np.abs(np.array(case["paper_admm_probe_scores"]) - scores).max() < 1e-4, (case, scores)
    return case | {"objective": value, "duality_gap": gap, "probe_scores": scores.tolist(), "n_pairs": len(c)}


def scores_of_preferences(F):
    """Equation 3.6 in closed form."""
    F = np.array(F)
    return ((F.sum(axis=1) - F.sum(axis=0)) / (2 * len(F))).tolist()


def ranking(case):
    """A function of two documents: each ordered pair is a point, with half the weight of the unordered one."""
    points, signs, c = [], [], []
    for i, j, l, weight in pairs(weights["q_trunc3"]):
        for first, second, sign in [(j, l, 1), (l, j, -1)]:
            points.append(np.concatenate([X[i][first], X[i][second]]))
            signs.append(sign)
            c.append(weight / 2)
    points, signs, c = map(np.array, (points, signs, c))
    a, value, _ = solve(kernel("gauss", points, points) * np.outer(signs, signs), c, case["lam"])
    asked = np.array([np.concatenate([x, y]) for x in probe for y in probe])
    F = ((a * signs) @ kernel("gauss", points, asked) / case["lam"]).reshape(len(probe), -1)
    return case | {"objective": value, "probe_f": F.tolist(), "probe_scores_eq36": scores_of_preferences(F)}


def admm_trajectory(case):
    """The paper's inexact ADMM with an intercept, corrected: u grows from u, and v is made of alpha-tilde."""
    K, y, c, lam, rho = (np.array(case[name]) for name in ["K", "y", "c", "lam", "rho"])
    M = y[:, None] * np.hstack([np.ones((len(y), 1)), K])
    padded = np.zeros((len(y) + 1, len(y) + 1))
    padded[1:, 1:] = K
    zeta = case["zeta_factor"] * np.linalg.eigvalsh(lam * padded + rho * M.T @ M)[-1]
    alpha, xi, gamma, u = np.zeros(len(y) + 1), np.zeros(len(y)), np.zeros(len(y)), np.zeros(len(y))
    wanted, iterates = [one["iters"] for one in case["iterates"]], []
    for k in range(1, max(wanted) + 1):
        v = M.T @ (M @ alpha - 1 + xi - gamma + u)
        alpha = alpha - (lam * padded @ alpha + rho * v) / zeta
        xi = np.maximum(1 - M @ alpha - u - c / rho, 0)
        gamma = np.maximum(M @ alpha - 1 + u, 0)
        u = u + M @ alpha - 1 + xi - gamma
        if k in wanted:
            value = lam / 2 * alpha @ padded @ alpha + c @ np.maximum(0, 1 - M @ alpha)
            iterates.append({"iters": k, "alpha_tilde": alpha.tolist(), "objective": float(value)})
    return case | {"iterates": iterates}


def s_funcs(case):
    """The four functions of the paper's second simulated example."""

    def values(u):
        s, c = np.sin(np.pi * u), np.cos(np.pi * u)
        return [u, (2 * u - 1) ** 2, s / (2 - s), 0.1 * s + 0.2 * c + 0.3 * s**2 + 0.4 * c**3 + 0.5 * s**3]

    return case | {"values": [list(map(float, values(u))) for u in case["u"]]}


out = given | {
    "gauss_s2": width,
    "distances": distances.tolist(),
    "bandwidth": h,
    "weights": {name: pi.tolist() for name, pi in weights.items()},
    "scoring_solutions": [scoring(case) for case in given["scoring_solutions"]],
    "ranking_gauss_q_trunc3": [ranking(case) for case in given["ranking_gauss_q_trunc3"]],
    "admm_trajectory": admm_trajectory(given["admm_trajectory"]),
    "eq36": given["eq36"] | {"s": scores_of_preferences(given["eq36"]["F"])},
    "s_funcs": s_funcs(given["s_funcs"]),
}
(HERE / "qsvm.json").write_text(json.dumps(out, indent=1))
