"""The top singular vectors of one centred click operator, by matchrank, scikit-learn and SciPy.

    pip install numpy scipy scikit-learn
    python bench/matching/peers.py --check
    python bench/matching/peers.py OPERATOR [--data DATASET] [--k 100,200] [--methods randomized_lu,svds]

OPERATOR is a folder with the factors X, Y, R as README.md beside this file describes. The operator is

    Wc = X' Rn Y - xbar ybar',   Rn = diag(1 / (n n_i)) R

(n queries with a response, n_i responses of query i, xbar and ybar the means over those queries of x and of
y'_i = (1/n_i) sum_j r_ij y_j) and is never formed. Every method runs in a process of its own with --threads threads, on the same factors in
float32; residuals are measured afterwards in float64. One JSON object per line goes to standard output:

    seconds, cpu_seconds   the decomposition alone; reading the factors is not counted
    peak_mib               of the whole process
    residual_u, residual_v largest |Wc' u_i - s_i v_i| / s_1 and |Wc v_i - s_i u_i| / s_1
    orthonormality         largest entry of |U'U - I| and |V'V - I|
    s_first, s_last        largest and smallest singular value found

With --data, matchrank trains on that dataset too (the command is OURS below). Its wall time is that of the
whole program: reading the dataset, making the features, training and writing the model.

--check proves this script instead of timing anything: the operator against the golden vectors, and the
methods against numpy.linalg.svd of a small random operator. It prints what it compared, or fails.
"""

import argparse
import json
import os
import shlex
import struct
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

# Our side: the command. Twice: with the tolerance that the program has by default, and down to float32.
OURS = "{matchrank} train pls --data {data} --set d={k} --set tolerance={tolerance} --out {model} --threads {threads} --format json --quiet"
TOLERANCES = ["1e-3", "1e-6"]

METHODS = ["randomized_lu", "randomized_qr", "svds"]


def limit_threads(threads):
    """Must run before NumPy is loaded, which is why NumPy is imported inside the functions."""
    for name in ["OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"]:
        os.environ[name] = str(threads)


def read_factors(folder):
    import numpy as np
    import scipy.sparse as sp

    shapes = json.loads((folder / "shape.json").read_text())
    factors = {}
    for name in "xyr":
        parts = {"offsets": "<u8", "indices": "<u4", "values": "<f4"}
        offsets, indices, values = (np.fromfile(folder / f"{name}.{part}.{kind[1]}{8 * int(kind[2])}", kind)
                                    for part, kind in parts.items())
        rows, columns = shapes[name]
        if len(offsets) != rows + 1 or offsets[-1] != len(indices) or len(indices) != len(values):
            sys.exit(f"{folder}: {name} has {len(offsets)} offsets, {len(indices)} indices and {len(values)} "
                     f"values, which is no matrix of {rows} rows")
        factors[name] = sp.csr_array((values, indices, offsets.astype(np.int64)), shape=(rows, columns))
        factors[name].check_format(full_check=True)
    return factors["x"], factors["y"], factors["r"]


def operator(x, y, r, dtype):
    """Wc as something SciPy and scikit-learn can multiply with, from both sides.

    Wc = X' P Rn Y with P = I - 11'/n over the queries with a response: centering where the queries are, by the
    mean of the block itself. Subtracting xbar (ybar' L) from the product is the same on paper; in float32 its
    rounding is that of the uncentred product, 30 times more on a random operator whose means are 30 times its
    first singular value.
    """
    import numpy as np
    import scipy.sparse as sp
    from scipy.sparse.linalg import LinearOperator

    x, y, r = (matrix.astype(np.float64) for matrix in (x, y, r))
    r.eliminate_zeros()
    answered = np.flatnonzero(np.diff(r.indptr))
    x, r = x[answered], r[answered]
    rn = (sp.diags_array(1.0 / (len(answered) * np.diff(r.indptr))) @ r).tocsr()

    # Transposes as rows of their own: SciPy then reads both directions in order.
    x, y, rn = (matrix.astype(dtype) for matrix in (x, y, rn))
    xt, yt, rnt = (matrix.T.tocsr() for matrix in (x, y, rn))

    def centre(block):
        block -= block.mean(axis=0, dtype=np.float64).astype(dtype)
        return block

    class Centred(LinearOperator):
        def __init__(self):
            super().__init__(np.dtype(dtype), (x.shape[1], y.shape[1]))

        def _matmat(self, block):
            return xt @ centre(rn @ (y @ block))

        def _rmatmat(self, block):
            return yt @ (rnt @ centre(x @ block))

    return Centred()


def decompose(method, wc, k, seed):
    """U, s, V of the k largest singular values, largest first."""
    import numpy as np

    if method == "svds":
        from scipy.sparse.linalg import svds

        start = np.random.default_rng(seed).normal(size=min(wc.shape)).astype(wc.dtype)
        u, s, vt = svds(wc, k=k, v0=start)
        order = np.argsort(-s)
        return u[:, order], s[order], vt[order].T
    # The public randomized_svd of scikit-learn 1.9 refuses operators; the function it calls takes them.
    # Defaults: 10 more columns than asked, 7 power iterations (4 where k is a tenth of the matrix or more).
    try:
        from sklearn.utils.extmath import _randomized_svd as randomized_svd
    except ImportError:
        from sklearn.utils.extmath import randomized_svd
    normalizer = {"randomized_lu": "LU", "randomized_qr": "QR"}[method]
    u, s, vt = randomized_svd(wc, k, power_iteration_normalizer=normalizer, random_state=seed)
    return u, s, vt.T


def quality(exact, u, s, v):
    """How good a decomposition is, with the operator in float64."""
    import numpy as np

    u, s, v = (np.asarray(array, np.float64) for array in (u, s, v))
    worst = lambda residual: float(np.linalg.norm(residual, axis=0).max() / s[0])
    orthonormality = max(np.abs(side.T @ side - np.eye(len(s))).max() for side in (u, v))
    return {
        "residual_u": worst(exact.rmatmat(u) - v * s),
        "residual_v": worst(exact.matmat(v) - u * s),
        "orthonormality": float(orthonormality),
        "s_first": float(s[0]),
        "s_last": float(s[-1]),
    }


def run_peer(folder, method, k, seed):
    """In a process of its own."""
    import resource

    import numpy as np

    factors = read_factors(folder)
    wc = operator(*factors, np.float32)
    decompose(method, operator(*small_factors(0), np.float32), 2, seed)  # loads the libraries
    cpu, wall = time.process_time(), time.perf_counter()
    u, s, v = decompose(method, wc, k, seed)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    figures = quality(operator(*factors, np.float64), u, s, v)
    return {"method": method, "k": k, "seconds": wall, "cpu_seconds": cpu, "peak_mib": peak} | figures


def read_safetensors(path):
    """Length of the header, the header as JSON, then the bytes it points into."""
    import numpy as np

    kinds = {"F32": "<f4", "F64": "<f8", "U32": "<u4", "U64": "<u8"}
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    metadata = header.pop("__metadata__", {})
    body = memoryview(data)[8 + length :]
    return {name: np.frombuffer(body[slice(*entry["data_offsets"])], kinds[entry["dtype"]]).reshape(entry["shape"])
            for name, entry in header.items() if entry["dtype"] in kinds}, metadata


def run_ours(folder, data, k, matchrank, threads, tolerance):
    import numpy as np

    with tempfile.TemporaryDirectory() as temporary:
        model = Path(temporary) / "model"
        values = {"matchrank": matchrank, "data": data, "k": k, "model": model, "threads": threads, "tolerance": tolerance}
        command = [word.format(**values) for word in shlex.split(OURS)]
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        if status != 0:
            sys.exit(f"{shlex.join(command)} failed")
        tensors, metadata = read_safetensors(model)
    d = int(tensors["d"][0])
    sides = {}
    for name in ["lx", "ly"]:
        rows = np.vstack([tensors[f"{name}.values"].reshape(-1, d), np.zeros((1, d), np.float32)])
        sides[name] = rows[np.minimum(tensors[f"{name}.row"], len(rows) - 1)]
    s = np.array(json.loads(metadata["report"])["singular_values"])
    exact = operator(*read_factors(folder), np.float64)
    figures = quality(exact, sides["lx"], s, sides["ly"])
    reported = json.loads(output)
    # Its own word: what the system counts starts with the memory of this process, from which it was forked.
    peak = reported["peak_memory"] / 2**20
    times = {"seconds": wall, "cpu_seconds": usage.ru_utime + usage.ru_stime, "peak_mib": peak}
    return {"method": f"matchrank, tolerance {tolerance}", "k": k} | times | figures | {"reported": reported["seconds"]}


def small_factors(seed, n_queries=60, n_documents=80, d_x=50, d_y=70):
    import numpy as np
    import scipy.sparse as sp

    rng = np.random.default_rng(seed)

    def random(rows, columns, density):
        dense = rng.uniform(0.5, 3.0, (rows, columns)) * (rng.random((rows, columns)) < density)
        return sp.csr_array(dense.astype(np.float32))

    r = random(n_queries, n_documents, 0.05).toarray()
    r[::7] = 0  # queries without a response
    return random(n_queries, d_x, 0.1), random(n_documents, d_y, 0.1), sp.csr_array(r)


def write_factors(folder, x, y, r):
    matrices = {"x": x, "y": y, "r": r}
    for name, matrix in matrices.items():
        matrix.indptr.astype("<u8").tofile(folder / f"{name}.offsets.u64")
        matrix.indices.astype("<u4").tofile(folder / f"{name}.indices.u32")
        matrix.data.astype("<f4").tofile(folder / f"{name}.values.f32")
    (folder / "shape.json").write_text(json.dumps({name: list(matrix.shape) for name, matrix in matrices.items()}))


def check(seed):
    import numpy as np
    import scipy.sparse as sp

    golden = json.loads((Path(__file__).parents[2] / "tests/golden/matching.json").read_text())
    factors = [sp.csr_array(np.array(golden[name], np.float32)) for name in "XYR"]
    wc = operator(*factors, np.float64)
    worst = np.abs(wc.matmat(np.eye(wc.shape[1])) - golden["W_centered"]).max()
    assert worst < 1e-6, worst
    assert np.abs(wc.rmatmat(np.eye(wc.shape[0])).T - golden["W_centered"]).max() < 1e-6
    print(f"golden W_centered: largest difference {worst:.1e}")

    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        write_factors(folder, *small_factors(seed))
        factors = read_factors(folder)
    exact, wc = operator(*factors, np.float64), operator(*factors, np.float32)
    # The definition, query by query.
    x, y, r = (matrix.toarray().astype(np.float64) for matrix in factors)
    answered = [i for i in range(len(r)) if r[i].any()]
    y_of = [r[i] @ y / np.count_nonzero(r[i]) for i in answered]
    dense = np.mean([np.outer(x[i], y_i) for i, y_i in zip(answered, y_of)], axis=0)
    dense -= np.outer(np.mean(x[answered], axis=0), np.mean(y_of, axis=0))
    assert np.abs(exact.matmat(np.eye(exact.shape[1])) - dense).max() < 1e-12
    assert np.abs(exact.rmatmat(np.eye(exact.shape[0])).T - dense).max() < 1e-12
    expected = np.linalg.svd(dense, compute_uv=False)[:5]
    for method in METHODS:
        u, s, v = decompose(method, wc, 5, seed)
        found = quality(exact, u, s, v)
        worst = np.abs(s / expected - 1).max()
        # Singular values are exact to the square of the residuals, and float32 allows 1e-6 or so. A fixed
        # number of power iterations leaves a residual; ARPACK goes on until there is none.
        residual = 1e-5 if method == "svds" else 5e-3
        assert worst < 1e-5 and max(found["residual_u"], found["residual_v"]) < residual, (method, worst, found)
        assert found["orthonormality"] < 1e-5, (method, found)
        print(f"{method}: singular values within {worst:.1e} of numpy.linalg.svd, residuals "
              f"{found['residual_u']:.1e} and {found['residual_v']:.1e}, orthonormal to {found['orthonormality']:.1e}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("operator", nargs="?", type=Path, help="folder with the factors")
    parser.add_argument("--data", type=Path, help="dataset the factors come from; without it matchrank is not run")
    parser.add_argument("--k", default="100,200", help="numbers of singular vectors (default 100,200)")
    parser.add_argument("--methods", default=",".join(METHODS), help=f"of the peers (default {','.join(METHODS)})")
    parser.add_argument("--threads", type=int, default=2, help="of every side (default 2)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--matchrank", default="target/release/matchrank")
    parser.add_argument("--check", action="store_true", help="prove the script on small operators and stop")
    args = parser.parse_args()
    limit_threads(args.threads)
    if args.check:
        return check(args.seed)
    if args.operator is None:
        parser.error("a folder with the factors is needed, or --check")
    unknown = set(args.methods.split(",")) - set(METHODS) - {""}
    if unknown:
        parser.error(f"unknown methods {', '.join(sorted(unknown))}; there are {', '.join(METHODS)}")
    for k in map(int, args.k.split(",")):
        if args.data:
            for tolerance in TOLERANCES:
                ours = run_ours(args.operator, args.data, k, args.matchrank, args.threads, tolerance)
                print(json.dumps(ours), flush=True)
        for method in filter(None, args.methods.split(",")):
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
                print(json.dumps(process.submit(run_peer, args.operator, method, k, args.seed).result()), flush=True)


if __name__ == "__main__":
    main()
