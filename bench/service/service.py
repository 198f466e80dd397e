"""Shared by the scripts of this folder: programs, the data of one week, a running service, requests, figures."""

import http.client
import json
import os
import random
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import quote

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release"
# Seconds after which a script gives up.
PATIENCE = 120
N_RERANKED = 100


def add_options(parser, data):
    parser.add_argument("--program", type=Path, default=TARGET / "matchrank", help="the program that serves")
    parser.add_argument("--data", type=Path, default=Path(data), help="folder of data and models; made if missing")
    parser.add_argument("--out", type=Path, help="add the results to this file, JSON lines")
    parser.add_argument("--seed", type=int, default=1)


def run(*args, stdin=None, cwd=None, codes=(0,)):
    """Runs a program to its end; returns what it wrote to standard output."""
    done = subprocess.run([str(arg) for arg in args], stdin=stdin, cwd=cwd, capture_output=True, text=True)
    if done.returncode not in codes:
        sys.exit(f"{' '.join(map(str, args))}: exit code {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout


# Data


def simulate(program, folder, preset):
    """A simulated log as a dataset, `week` in the folder."""
    log, data = folder / "log", folder / "week"
    if not (data / "manifest.json").exists():
        folder.mkdir(parents=True, exist_ok=True)
        run(program, "simulate", "clicks", "--preset", preset, "--out", log, "--force")
        run(program, "ingest", "--clicks", log / "clicks.csv", "--documents", log / "documents.jsonl", "--queries",
            log / "queries.tsv", "--judgments", f"validation={log / 'validation.qrels'}", "--judgments",
            f"test={log / 'test.qrels'}", "--out", data, "--force", "--quiet")
    return log, data


def train(program, folder, name, *args):
    """Trains a model if it is not there; returns its file."""
    model = folder / "models" / f"{name}.model"
    if not model.exists():
        model.parent.mkdir(exist_ok=True)
        print(f"training {name}", file=sys.stderr, flush=True)
        unfinished = folder / "models" / f"{name}.unfinished"
        run(program, "train", *args, "--data", folder / "week", "--out", unfinished, "--quiet")
        unfinished.rename(model)
    return model


def models_of_one_week(program, folder):
    """BM25, clicks, RMLS with d = 1000, a second version of it, and a stack."""
    simulate(program, folder, "one-week")
    models = {
        "bm25": train(program, folder, "bm25", "bm25"),
        "clicks": train(program, folder, "clicks", "clicks"),
        "rmls": train(program, folder, "rmls", "rmls", "--set", "d=1000"),
        "rmls-2": train(program, folder, "rmls-2", "rmls", "--set", "d=1000", "--set", "beta=0.4"),
    }
    of = [models["rmls"], models["bm25"], models["clicks"]]
    models["stack"] = train(program, folder, "stack", "stack", "--of", *of)
    return models


def judged_queries(log, part="test"):
    """Texts of the judged queries of a simulated log."""
    judged = {line.split()[0] for line in open(log / f"{part}.qrels", encoding="utf-8")}
    lines = (line.rstrip("\n").split("\t") for line in open(log / "queries.tsv", encoding="utf-8"))
    return [fields[1] for fields in lines if fields[0] in judged]


def document_ids(log):
    return [json.loads(line)["id"] for line in open(log / "documents.jsonl", encoding="utf-8")]


# A running service


class Service:
    """A process of `matchrank serve` on a free port of 127.0.0.1."""

    def __init__(self, program, *options, log=subprocess.DEVNULL, wait=True):
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            [str(program), "serve", "--listen", "127.0.0.1:0", *map(str, options)],
            stdout=subprocess.PIPE, stderr=log, text=True,
        )
        self.port = None
        if wait and not self.wait():
            sys.exit(f"the service did not start: exit code {self.process.wait()}")

    def wait(self, patience=PATIENCE):
        """Waits until the service listens; returns False if it ended before."""
        readable, _, _ = select.select([self.process.stdout], [], [], patience)
        line = self.process.stdout.readline() if readable else ""
        if "://" not in line:
            return False
        self.port = int(line.strip().rsplit(":", 1)[1])
        self.seconds_to_start = time.monotonic() - self.started
        return True

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def client(self):
        return Client(self.port)

    def cpu_seconds(self):
        """CPU time of all threads, also of those that have ended."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self):
        """Bytes in memory now, and at most so far."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        sizes = {line.split(":")[0]: int(line.split()[1]) << 10 for line in lines if line.endswith(" kB")}
        return sizes["VmRSS"], sizes["VmHWM"]

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self, patience=PATIENCE):
        """Ends the service as an operator does; returns its exit code."""
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(patience)
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.kill()
        self.process.stdout.close()


class Client:
    """A connection that is kept; one for each thread."""

    def __init__(self, port, timeout=60):
        self.port, self.timeout = port, timeout
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)

    def send(self, method, path, body=None):
        """Returns the status and the JSON of an answer. Raises OSError or HTTPException where there is none."""
        if body is not None and not isinstance(body, (str, bytes)):
            body = json.dumps(body)
        if isinstance(body, str):
            body = body.encode()
        try:
            self.connection.request(method, path, body, {"Content-Type": "application/json"} if body else {})
            answer = self.connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException):
            self.connection.close()
            raise
        is_json = (answer.headers.get("Content-Type") or "").startswith("application/json")
        return answer.status, json.loads(text) if is_json and text else text.decode()

    def post(self, path, body):
        return self.send("POST", path, body)

    def get(self, path):
        return self.send("GET", path)

    def document(self, method, id, body=None):
        return self.send(method, f"/v1/documents/{quote(id, safe='')}", body)

    def close(self):
        self.connection.close()


NO_ANSWER = (OSError, http.client.HTTPException, ValueError)


# Bodies


def search_bodies(queries, model, **fields):
    return [json.dumps({"query": query, "top": 10, "model": model, **fields}) for query in queries]


def rerank_candidates(service, queries, ids, model="bm25", seed=1):
    """A hundred ids for each query: the best by a model, filled up with random documents, shuffled."""
    rng, client, candidates = random.Random(seed), service.client(), []
    for query in queries:
        status, answer = client.post("/v1/search", {"query": query, "top": N_RERANKED, "model": model})
        if status != 200:
            sys.exit(f"{query!r}: status {status}, {answer}")
        found = dict.fromkeys(hit["id"] for hit in answer["hits"])
        while len(found) < N_RERANKED:
            found[rng.choice(ids)] = None
        shuffled = list(found)
        rng.shuffle(shuffled)
        candidates.append(shuffled)
    client.close()
    return candidates


def rerank_bodies(queries, candidates, model):
    return [
        json.dumps({"model": model, "query": query, "documents": [{"id": id} for id in ids]})
        for query, ids in zip(queries, candidates)
    ]


# Figures


def quantile(values, share):
    """A quantile of sorted values; None without values."""
    return values[min(len(values) - 1, int(share * len(values)))] if values else None


def median(values):
    return quantile(sorted(values), 0.5)


def number(value, digits=2):
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.{digits}f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def table(head, rows):
    """Prints a Markdown table."""
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(number(cell) for cell in row) + " |")
    print(flush=True)


def save(path, results):
    """Adds results to a file of JSON lines."""
    if path:
        with open(path, "a", encoding="utf-8") as out:
            for result in results:
                out.write(json.dumps(result) + "\n")


def machine():
    """What the figures of a run depend on, as one object of the results."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return {"cpu": names[0] if names else "?", "cores": os.cpu_count(), "load": os.getloadavg()[0]}
