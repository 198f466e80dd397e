#!/usr/bin/env python3
"""Serves one week of documents for a while, with events, document changes and a new model every few seconds.

    cargo build --release -p matchrank
    python3 bench/service/soak.py --data /tmp/week --minutes 30

Threads send searches, reranks, explanations, events and document changes at fixed rates, and another one activates two
versions of RMLS with d = 1000 in turn. Every answer is checked. Latencies are counted from the moment at which a request
was due, apart for requests that overlap with an activation. Memory is the resident set of the process, looked at about once
a second. While a model is activated, a third version is in memory, so samples between activations are compared: their medians
over the first and the last fifth after the warm-up.
"""

import argparse
import bisect
import json
import random
import sys
import tempfile
import threading
import time
from pathlib import Path

import service as lib
from service import NO_ANSWER, Service, median, number, quantile, save, table

# Requests a second of each kind, for a rate of 1.
RATES = {"search words": 20, "search rmls": 10, "rerank words": 5, "rerank rmls": 10, "explain": 3, "events": 20, "documents": 4}
NEW_DOCUMENTS, CHANGED_DOCUMENTS = 200, 100


class Wrong(Exception):
    """An answer that is not the right one."""


class Soak:
    """What the threads share."""

    def __init__(self, args, service, queries, candidates, log):
        self.args, self.service, self.queries, self.candidates = args, service, queries, candidates
        self.stop = threading.Event()
        self.requests = {kind: [] for kind in RATES}
        self.swaps, self.memory, self.failures = [], [], []
        self.lock = threading.Lock()
        self.events, self.clicks = 0, 0
        self.ids = lib.document_ids(log)
        self.known = [*self.ids[:CHANGED_DOCUMENTS], *(f"soak-{i}" for i in range(NEW_DOCUMENTS))]
        self.versions = {}

    def fail(self, kind, problem):
        with self.lock:
            self.failures.append((kind, str(problem)))
            if len(self.failures) <= 20:
                print(f"{kind}: {problem}", file=sys.stderr, flush=True)

    def expect(self, answer, status=200):
        if answer[0] != status:
            raise Wrong(f"status {answer[0]}: {json.dumps(answer[1])[:300]}")
        return answer[1]

    def sorted(self, scores):
        if scores != sorted(scores, reverse=True):
            raise Wrong(f"the scores are not sorted: {scores[:10]}")

    # Requests: each is made with the client, the random numbers and the number of a thread.

    def search(self, model, client, rng, _):
        body = {"query": rng.choice(self.queries), "top": 10, "model": model}
        answer = self.expect(client.post("/v1/search", body))
        self.sorted([hit["score"] for hit in answer["hits"]])
        if answer["model"]["name"] != model or len(answer["hits"]) > 10:
            raise Wrong(f"a search of {model}: {json.dumps(answer)[:300]}")

    def rerank(self, model, client, rng, _):
        at = rng.randrange(len(self.queries))
        documents = [{"id": id} for id in self.candidates[at]]
        answer = self.expect(client.post("/v2/rerank", {"model": model, "query": self.queries[at], "documents": documents}))
        self.sorted([result["relevance_score"] for result in answer["results"]])
        if sorted(result["index"] for result in answer["results"]) != list(range(len(documents))):
            raise Wrong("a rerank does not have each document once")

    def explain(self, client, rng, _):
        at = rng.randrange(len(self.queries))
        # A document that the soak deletes may be among them.
        document = next(id for id in self.candidates[at] if id not in self.versions and id not in self.known[:CHANGED_DOCUMENTS])
        body = {"query": self.queries[at], "document": document, "model": rng.choice(["words", "rmls"])}
        answer = self.expect(client.post("/v1/explain", body))
        if "explanation" not in answer:
            raise Wrong(f"an explanation: {json.dumps(answer)[:300]}")

    def event(self, client, rng, n):
        """A search, a click on its second document, or a preference; every tenth is a retry."""
        number, kind = n // 3, n % 3
        shown = [self.ids[(7 * number + i) % len(self.ids)] for i in range(5)]
        query = self.queries[number % len(self.queries)]
        event = [
            {"event": "search", "search": f"s{number}", "query": query, "shown": shown},
            {"event": "click", "search": f"s{number}", "document": shown[1], "position": 2},
            {"event": "preference", "query": query, "better": shown[1], "worse": shown[0]},
        ][kind]
        event["id"] = f"e{n}"
        answer = self.expect(client.post("/v1/events", event))
        if (answer["accepted"], answer["duplicates"]) != (1, 0):
            raise Wrong(f"a new event: {answer}")
        self.events += 1
        # The row of a click, or those of the documents that a search showed.
        self.clicks += [len(shown), 1, 0][kind]
        if n % 10 == 9:
            answer = self.expect(client.post("/v1/events", event))
            if (answer["accepted"], answer["duplicates"]) != (0, 1):
                raise Wrong(f"a retry: {answer}")

    def document(self, client, rng, n):
        """Puts or deletes a document and reads it; this thread alone changes documents."""
        id = rng.choice(self.known)
        is_there = self.versions.get(id, id in self.known[:CHANGED_DOCUMENTS])
        if is_there and rng.random() < 0.25:
            self.expect(client.document("DELETE", id))
            self.versions[id] = None
            self.expect(client.document("GET", id), 404)
            return
        words = " ".join(rng.sample(self.queries, 3))
        self.expect(client.document("PUT", id, {"title": words, "version": n}))
        self.versions[id] = n + 1
        answer = self.expect(client.document("GET", id))
        if answer["fields"].get("version") != n:
            raise Wrong(f"{id} has {answer} after version {n} was put")

    # Threads.

    def send(self, kind, act, rate, seed):
        rng, client = random.Random(seed), self.service.client()
        due, n, done = time.monotonic() + rng.random() / rate, 0, self.requests[kind]
        while not self.stop.is_set():
            pause = due - time.monotonic()
            if pause > 0 and self.stop.wait(pause):
                break
            try:
                act(client, rng, n)
            except (Wrong, KeyError, TypeError, *NO_ANSWER) as problem:
                self.fail(kind, f"{type(problem).__name__}: {problem}")
            done.append((due, time.monotonic()))
            due, n = due + 1 / rate, n + 1
        client.close()

    def swap(self):
        client, number = self.service.client(), 0
        while not self.stop.wait(self.args.swap_every - (time.monotonic() - self.started) % self.args.swap_every):
            file = ["rmls-2.model", "rmls.model"][number % 2]
            start, number = time.monotonic(), number + 1
            try:
                answer = self.expect(client.post("/v1/models/rmls/activate", {"file": file, "reason": "soak"}))
                if answer["current"]["file"] != file:
                    raise Wrong(f"{answer['current']['file']} is active after the activation of {file}")
            except (Wrong, KeyError, TypeError, *NO_ANSWER) as problem:
                self.fail("activate", f"{type(problem).__name__}: {problem}")
            self.swaps.append((start, time.monotonic()))
        client.close()

    def watch(self):
        while not self.stop.wait(random.uniform(0.5, 1.5)):
            self.memory.append((time.monotonic(), self.service.memory()[0]))

    def run(self):
        acts = {
            "search words": lambda *of: self.search("words", *of), "search rmls": lambda *of: self.search("rmls", *of),
            "rerank words": lambda *of: self.rerank("words", *of), "rerank rmls": lambda *of: self.rerank("rmls", *of),
            "explain": self.explain, "events": self.event, "documents": self.document,
        }
        self.started = time.monotonic()
        threads = [threading.Thread(target=self.swap), threading.Thread(target=self.watch)]
        for seed, (kind, act) in enumerate(acts.items()):
            rate = RATES[kind] * self.args.rate
            threads.append(threading.Thread(target=self.send, args=(kind, act, rate, self.args.seed + seed)))
        [thread.start() for thread in threads]
        end = self.started + 60 * (self.args.warm_up + self.args.minutes)
        while time.monotonic() < end and self.service.process.poll() is None:
            time.sleep(min(60, max(0.1, end - time.monotonic())))
            done = sum(len(requests) for requests in self.requests.values())
            memory = self.memory[-1][1] >> 20 if self.memory else 0
            print(f"{(time.monotonic() - self.started) / 60:.1f} min: {done:,} requests, {len(self.swaps)} activations, "
                  f"{len(self.failures)} failures, {memory:,} MiB", file=sys.stderr, flush=True)
        self.stop.set()
        [thread.join() for thread in threads]
        return threads


def latencies(requests, swaps, after):
    """Sorted latencies in milliseconds of requests beside activations, and of those that overlap with one."""
    starts, beside, during = [start for start, _ in swaps], [], []
    for due, end in requests:
        if due < after:
            continue
        last = bisect.bisect_left(starts, end) - 1
        overlaps = last >= 0 and swaps[last][1] > due
        (during if overlaps else beside).append((end - due) * 1e3)
    return sorted(beside), sorted(during)


def report(soak, args, state):
    after = soak.started + 60 * args.warm_up
    rows, results = [], []
    for kind, requests in soak.requests.items():
        beside, during = latencies(requests, soak.swaps, after)
        figures = {"kind": kind, "requests": len(beside) + len(during), "during": len(during)}
        for name, values in (("beside", beside), ("swap", during)):
            for share in (0.5, 0.99, 0.999):
                figures[f"{name}_p{100 * share:g}_ms"] = quantile(values, share)
        both = figures["beside_p99_ms"] and figures["swap_p99_ms"]
        figures["ratio"] = figures["swap_p99_ms"] / figures["beside_p99_ms"] if both else None
        results.append(figures)
        rows.append([kind, figures["requests"], *(figures[f"beside_p{p}_ms"] for p in ("50", "99", "99.9")), figures["during"],
                     *(figures[f"swap_p{p}_ms"] for p in ("50", "99", "99.9")), figures["ratio"]])
    table(["ms from the due time", "requests", "p50", "p99", "p99.9", "during an activation", "p50", "p99", "p99.9",
           "ratio of p99"], rows)
    window = 60 * args.minutes / 5
    is_at_rest = lambda at: not any(start <= at <= end for start, end in soak.swaps)
    sizes = [(at, size) for at, size in soak.memory if at >= after and is_at_rest(at)]
    first = median([size for at, size in sizes if at < after + window])
    last = median([size for at, size in sizes if at >= after + 4 * window])
    seconds = sorted(end - start for start, end in soak.swaps)
    _, most = soak.service.memory()
    summary = {
        "minutes": args.minutes, "first_rss": first, "last_rss": last, "most_rss": most,
        "growth": last / first - 1 if first and last else None, "activations": len(soak.swaps),
        "activation_p50_s": quantile(seconds, 0.5), "activation_most_s": seconds[-1] if seconds else None,
        "events": soak.events, "failures": len(soak.failures), "store_bytes": (state / "store.redb").stat().st_size,
        "cpu_share": soak.service.cpu_seconds() / (time.monotonic() - soak.service.started),
    }
    mib = lambda size: "-" if size is None else f"{size / (1 << 20):,.0f} MiB"
    growth = summary["growth"]
    table(["", "found", "wanted", "met"], [
        ["failed requests", summary["failures"], 0, "yes" if not soak.failures else "NO"],
        ["median memory between activations, first fifth", mib(first), "", ""],
        ["median memory between activations, last fifth", mib(last), "", ""],
        ["growth", "-" if growth is None else f"{growth:+.1%}", "within 5 %",
         "yes" if growth is not None and abs(growth) <= 0.05 else "NO"],
        ["memory at most", mib(most), "", ""],
        *([f"p99 of {of['kind']} during an activation", f"{number(of['ratio'])} times", "at most 2 times",
           "yes" if of["ratio"] and of["ratio"] <= 2 else "NO"] for of in results),
        ["activations", summary["activations"], "", ""],
        ["time of an activation, median and longest", f"{number(summary['activation_p50_s'])} s, "
         f"{number(summary['activation_most_s'])} s", "", ""],
        ["events acknowledged", summary["events"], "", ""],
        ["file of the log", mib(summary["store_bytes"]), "", ""],
        ["cores in use by the service", summary["cpu_share"], "", ""],
    ])
    return [*results, summary]


def check_log(args, soak, state):
    """Ends the service and counts what is in the log."""
    code = soak.service.stop()
    if code != 0:
        soak.fail("end", f"exit code {code} after SIGTERM")
    summary = json.loads(lib.run(args.program, "events", "export", "--state", state, "--out", state / "log.jsonl", "--format",
                                 "json"))
    if summary["rows"] != soak.clicks or summary["events"] != soak.events:
        soak.fail("log", f"{soak.events} events with {soak.clicks} rows were acknowledged, and the log has {summary}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    lib.add_options(parser, "/tmp/matchrank-week")
    parser.add_argument("--minutes", type=float, default=30, help="length after the warm-up")
    parser.add_argument("--warm-up", type=float, default=2, help="minutes before anything is measured")
    parser.add_argument("--swap-every", type=float, default=10, help="seconds from one activation to the next")
    parser.add_argument("--rate", type=float, default=1.0, help=f"factor of the requests a second: {RATES}")
    parser.add_argument("--learn", action="store_true", help="a sparse-preference model learns from the events meanwhile")
    args = parser.parse_args()
    models = lib.models_of_one_week(args.program, args.data)
    queries = lib.judged_queries(args.data / "log")
    random.seed(args.seed)
    random.shuffle(queries)
    queries = queries[:500]
    sys.setswitchinterval(0.001)
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder) / "state"
        served = ["--model", f"words={models['bm25']}", "--model", f"rmls={models['rmls']}"]
        if args.learn:
            model = lib.train(args.program, args.data, "preference", "sparse-preference", "--set", "tuples=200000")
            served += ["--model", f"preference={model}", "--learn", "preference"]
        with open(Path(folder) / "requests.log", "w") as requests:
            with Service(args.program, "--data", args.data / "week", *served, "--state", state, log=requests) as service:
                print(f"the service took {service.seconds_to_start:.1f} s to start", file=sys.stderr, flush=True)
                ids = lib.document_ids(args.data / "log")
                candidates = lib.rerank_candidates(service, queries, ids, "words", args.seed)
                soak = Soak(args, service, queries, candidates, args.data / "log")
                soak.run()
                if service.process.poll() is not None:
                    sys.exit(f"the service ended with exit code {service.process.returncode}; see its log\n"
                             + (Path(folder) / "requests.log").read_text()[-2000:])
                results = report(soak, args, state)
                n_failures = len(soak.failures)
                check_log(args, soak, state)
                if len(soak.failures) == n_failures:
                    print(f"The log has each of the {soak.events:,} acknowledged events once.")
        save(args.out, [{"machine": lib.machine()}, *results])
    sys.exit(1 if soak.failures else 0)


if __name__ == "__main__":
    main()
