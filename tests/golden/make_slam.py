"""Writes slam_loss.json, slam_perceptron.json and slam_batch.json: SLAM's losses, its perceptron, its batch minimiser.

    pip install numpy && python make_slam.py

Scores, grades and feature lists were drawn once and are read from these files; their `conventions` say what is
computed. Nothing is shared with the Rust code.
"""

import json
import pathlib

import numpy as np

HERE = pathlib.Path(__file__).parent


def weights(R, measure):
    """The weights v of the documents, in input order; positions count documents by grade, stable in input order."""
    m, order = len(R), np.argsort(-R, kind="stable")
    sorted_v, D = np.zeros(m), 1 / np.log2(1 + np.arange(1, m + 1))
    G = 2.0 ** R[order] - 1
    if measure == "map":
        r = int((R > 0).sum())
        i = np.arange(1, r + 1)
        sorted_v[:r] = 1 / r - i / (r * (m - r + i)) if r else 0
    elif measure == "ndcg":
        Z = G @ D
        sorted_v = (G - G[-1]) * (D - D[-1]) / Z if Z > 0 else sorted_v
    else:
        k = int(measure.split("@")[1])
        Z = G[:k] @ D[:k]
        sorted_v[:k] = G[:k] * D[:k] / Z if Z > 0 else 0
    v = np.zeros(m)
    v[order] = sorted_v
    return v


def violations(s, R, delta):
    """(i, k, delta + s_k - s_i) for every document i that has one k, the best scored of lower grade."""
    for i in range(len(s)):
        lower = np.flatnonzero(R < R[i])
        if len(lower):
            k = lower[np.argmax(s[lower])]
            yield i, k, delta + s[k] - s[i]


def loss(s, R, v, delta=1.0):
    return float(sum(v[i] * max(0, gap) for i, _, gap in violations(s, R, delta)))


def subgradient(s, R, v, misordered=False):
    """The subgradient in s, and the weight of the active documents."""
    g, active = np.zeros(len(s)), 0.0
    for i, k, gap in violations(s, R, 0.0 if misordered else 1.0):
        if gap >= 0 if misordered else gap > 0:
            g[i] -= v[i]
            g[k] += v[i]
            active += v[i]
    return g, active


def measure_loss(s, R, measure):
    """1 - measure, with ties in the worst order."""
    R = R[np.lexsort((R, -s))]
    if measure == "map":
        relevant = R > 0
        return float(1 - (relevant.cumsum() / np.arange(1, len(R) + 1))[relevant].mean()) if relevant.any() else 0.0
    k = int(measure.split("@")[1]) if "@" in measure else len(R)
    D = 1 / np.log2(1 + np.arange(1, k + 1))
    best = (2.0 ** np.sort(R)[::-1][:k] - 1) @ D[: len(R)]
    return float(1 - (2.0 ** R[:k] - 1) @ D[: len(R)] / best) if best > 0 else 0.0


def losses(case):
    s, R = np.array(case["s"]), np.array(case["R"])
    out = {"s": case["s"], "R": case["R"]}
    for measure in [name for name in case if name not in ("s", "R")]:
        grades = (R > 0).astype(float) if measure == "map" else R
        v = weights(grades, measure)
        out[measure] = {
            "v": v.tolist(),
            "loss": loss(s, grades, v),
            "loss_delta0_5": loss(s, grades, v, 0.5),
            "subgrad": subgradient(s, grades, v)[0].tolist(),
            "subgrad_misordered_only": subgradient(s, grades, v, misordered=True)[0].tolist(),
            "measure_loss_worst_ties": measure_loss(s, R, measure),
        }
    return out


def perceptron(lists, misordered):
    w, out = np.zeros(lists[0][0].shape[1]), {"w_after_round": [], "losses": [], "active_weight": [], "update_rounds": []}
    for t, (X, R) in enumerate(lists):
        lost, active = measure_loss(X @ w, R, "ndcg"), 0.0
        if lost > 1e-12:
            g, active = subgradient(X @ w, R, weights(R, "ndcg"), misordered)
            w = w - X.T @ g
            out["update_rounds"].append(t)
        for name, value in [("w_after_round", w.tolist()), ("losses", lost), ("active_weight", float(active))]:
            out[name].append(value)
    return out


def objective(lists, w, lam):
    """lam/2 |w|^2 + the mean loss, and a subgradient."""
    value, g = lam / 2 * w @ w, lam * w
    for X, R in lists:
        v = weights(R, "ndcg")
        value += loss(X @ w, R, v) / len(lists)
        g = g + X.T @ subgradient(X @ w, R, v)[0] / len(lists)
    return float(value), g


def minimise(lists, lam, sweeps=20_000):
    """The dual, by moves along one or two coordinates that are exact.

    Document i of a list has multipliers a_ij >= 0 for the documents j of lower grade, and one for `no violation`, which
    add up to v_i / n; w = sum a_ij (x_i - x_j) / lam. Its dual value bounds the objective from below.
    """
    groups = []
    for X, R in lists:
        v = weights(R, "ndcg") / len(lists)
        for i in np.flatnonzero(v > 0):
            z = np.array([X[i] - X[j] for j in np.flatnonzero(R < R[i])] + [np.zeros(X.shape[1])])
            if len(z) > 1:
                a = np.zeros(len(z))
                a[-1] = v[i]
                groups.append((z, np.append(np.ones(len(z) - 1), 0.0), a))
    w = np.zeros(lists[0][0].shape[1])
    for sweep in range(sweeps):
        for z, b, a in groups:
            slope = b - z @ w
            up = int(np.argmax(slope))
            down = int(np.argmin(np.where(a > 0, slope, np.inf)))
            d = z[up] - z[down]
            curvature = d @ d
            if slope[up] <= slope[down] or curvature == 0:
                continue
            step = min(a[down], lam * (slope[up] - slope[down]) / curvature)
            a[up] += step
            a[down] = 0.0 if step == a[down] else a[down] - step
            w = w + step * d / lam
        if sweep % 50 == 49:
            w = sum(a @ z for z, _, a in groups) / lam
            dual = sum(a @ b for _, b, a in groups) - lam / 2 * w @ w
            if objective(lists, w, lam)[0] - dual < 1e-15:
                break
    best = min([w, np.zeros_like(w)], key=lambda w: objective(lists, w, lam)[0])
    value = objective(lists, best, lam)[0]
    return {"lam": lam, "w": best.tolist(), "objective": value, "certified_gap": float(value - dual)}


def read(name):
    return json.loads((HERE / name).read_text())


def write(name, out):
    (HERE / name).write_text(json.dumps(out, indent=1))


def lists_of(data):
    return [(np.array(one["X"]), np.array(one["R"])) for one in data]


given = read("slam_loss.json")
write("slam_loss.json", given | {"cases": [losses(case) for case in given["cases"]]})

given = read("slam_perceptron.json")
lists = lists_of(given["data"])
write("slam_perceptron.json", given | {"paper": perceptron(lists, False), "mis": perceptron(lists, True)})

given = read("slam_batch.json")
for part in ("noisy", "learnable"):
    lists, at = lists_of(given[part]["data"]), given[part]["at_w"]
    value, g = objective(lists, np.array(at["w"]), at["lam"])
    given[part]["at_w"] = at | {"objective": value, "subgradient": g.tolist()}
    given[part]["solutions"] = [minimise(lists, case["lam"]) for case in given[part]["solutions"]]
write("slam_batch.json", given)
