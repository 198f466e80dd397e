#!/usr/bin/env python3
"""Measures rates and latencies of `matchrank serve` on one week of documents, with `oha` as the client.

    cargo install oha --locked
    cargo build --release -p matchrank && cargo build --release -p matchrank-server --example library_calls
    python3 bench/service/load.py --data /tmp/week

Each kind of request goes through a warm-up, closed loops of 2, 4 and 8 connections, of which the highest rate counts, and
an open loop at half this rate: a request every so many microseconds, whose latency is counted from the moment at which it
was due. The queries are the judged ones of the test part, in random order. Service and client share the cores.

Then the calls below the requests are measured in a process of their own (`library_calls`): CPU time of a request beside CPU
time of its call, and on one core the 8-bit search of RMLS beside exact ones.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import service as lib
from service import Service, number, save, table

# Name in tables, route, model, fields of the request.
TWO_STAGES = {"first_stage": ["words", "clicks"], "depth": 200}
KINDS = {
    "search-words": ("search, BM25", "/v1/search", "words", {}),
    "search-rmls": ("search, RMLS, d = 1000", "/v1/search", "rmls", {}),
    "search-stack": ("search, stack", "/v1/search", "stack", {}),
    "stages-rmls": ("two-stage search, RMLS", "/v1/search", "rmls", TWO_STAGES),
    "stages-stack": ("two-stage search, stack", "/v1/search", "stack", TWO_STAGES),
    "rerank-words": ("rerank 100, BM25", "/v2/rerank", "words", {}),
    "rerank-rmls": ("rerank 100, RMLS, d = 1000", "/v2/rerank", "rmls", {}),
    "rerank-stack": ("rerank 100, stack", "/v2/rerank", "stack", {}),
}
# Kinds whose p99 at half the highest rate must be at most 10 ms.
FAST = ("search-words", "stages-rmls", "stages-stack", "rerank-words", "rerank-rmls", "rerank-stack")
FILES = {"words": "bm25", "rmls": "rmls", "stack": "stack", "clicks": "clicks"}


def attack(args, url, bodies, seconds, connections, rate=None):
    """Runs oha; returns its figures in milliseconds, and the number of requests without an answer of status 200."""
    open_loop = ["-q", f"{rate:.2f}", "--latency-correction"] if rate else []
    command = [args.oha, "--no-tui", "--output-format", "json", "-z", f"{seconds}s", "-w", "-c", connections, *open_loop,
               "-t", "60s", "--worker-threads", args.client_threads, "-m", "POST", "-T", "application/json",
               "-Z", bodies, url]
    found = json.loads(lib.run(*command))
    statuses = {int(status): n for status, n in found["statusCodeDistribution"].items()}
    answered = sum(statuses.values())
    figures = {
        "connections": connections, "answers": answered, "rate": answered / found["summary"]["total"],
        "failed": answered - statuses.get(200, 0) + sum(found["errorDistribution"].values()),
    }
    for share in ("p50", "p99", "p99.9"):
        value = found["latencyPercentiles"].get(share)
        figures[f"{share}_ms"] = None if value is None else value * 1e3
    return figures


def measured(args, service, url, bodies, seconds, connections, rate=None):
    """The figures of `attack` with the CPU time of the service for each request."""
    before = service.cpu_seconds()
    figures = attack(args, url, bodies, seconds, connections, rate)
    figures["cpu_us"] = (service.cpu_seconds() - before) * 1e6 / max(1, figures["answers"])
    return figures


def check(kind, service, bodies):
    """Returns an error if the service does not take these requests or answers them wrongly."""
    path, client = KINDS[kind][1], service.client()
    for body in random.sample(bodies, min(20, len(bodies))):
        status, answer = client.post(path, body)
        if status != 200:
            return f"status {status}: {json.dumps(answer)[:200]}"
        hits = answer.get("hits", answer.get("results"))
        scores = [hit["score"] if "score" in hit else hit["relevance_score"] for hit in hits]
        if scores != sorted(scores, reverse=True):
            return f"the scores are not sorted: {scores}"
        if path == "/v2/rerank" and len(hits) != lib.N_RERANKED:
            return f"{len(hits)} results for {lib.N_RERANKED} documents"
    return None


def load(args, kind, service, bodies, folder):
    name, path, _, _ = KINDS[kind]
    problem = check(kind, service, bodies)
    if problem:
        print(f"{name}: left out, {problem}", file=sys.stderr, flush=True)
        return None
    file = folder / f"{kind}.jsonl"
    file.write_text("\n".join(bodies) + "\n")
    url = service.url + path
    attack(args, url, file, max(1, args.seconds // 5), 4)
    closed = [measured(args, service, url, file, args.seconds, n) for n in args.connections]
    best = max(closed, key=lambda figures: figures["rate"])
    half = measured(args, service, url, file, args.seconds, 32, best["rate"] / 2)
    return {"kind": kind, "name": name, "closed": closed, "best": best, "half": half}


def library(args, task, bodies, models, threads=None):
    """Figures of the calls below the requests, by name of the model."""
    env = {**os.environ, **({"RAYON_NUM_THREADS": str(threads)} if threads else {})}
    files = [str(args.data / "models" / f"{FILES[model]}.model") for model in models]
    command = [str(args.library), task, str(args.data / "week"), str(bodies), str(args.seconds), *files]
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    figures = [json.loads(line) for line in done.stdout.splitlines()]
    return {model: found for model in models for found in figures if found["model"] == FILES[model]}


def report_load(results):
    table(
        ["", "requests a second", "connections", "CPU a request", "p50", "p99", "p99.9", "at half the rate: p50", "p99", "p99.9",
         "failed"],
        [[result["name"], round(result["best"]["rate"]), result["best"]["connections"],
          f"{number(result['best']['cpu_us'] / 1e3)} ms",
          *(f"{number(result['best'][share])} ms" for share in ("p50_ms", "p99_ms", "p99.9_ms")),
          *(f"{number(result['half'][share])} ms" for share in ("p50_ms", "p99_ms", "p99.9_ms")),
          sum(figures["failed"] for figures in [*result["closed"], result["half"]])]
         for result in results],
    )


def report_overhead(results, calls):
    """CPU time of a request beside its call; returns the objects of the results."""
    overheads = []
    for result in results:
        _, path, model, fields = KINDS[result["kind"]]
        call = calls.get(path, {}).get(model)
        if not call or fields:
            continue
        of_call, of_request = call["cpu_us"], result["best"]["cpu_us"]
        overheads.append({"kind": result["kind"], "name": result["name"], "call_cpu_us": of_call, "request_cpu_us": of_request,
                          "call_p50_ms": call["p50_ms"], "added_cpu_us": of_request - of_call,
                          "overhead": of_request / of_call - 1})
    table(
        ["", "CPU of the call", "CPU of the request", "added", "overhead"],
        [[of["name"], f"{number(of['call_cpu_us'], 0)} us", f"{number(of['request_cpu_us'], 0)} us",
          f"{number(of['added_cpu_us'], 0)} us", f"{of['overhead']:.0%}"] for of in overheads],
    )
    return overheads


def report_exact(found):
    rows = [[name, f"{number(found[key]['p50_ms'])} ms", f"{number(found[key]['p99_ms'])} ms"] for name, key in (
        ("8-bit images, the best exactly", "eight_bit"), ("exact images", "exact_images"),
        ("exact, documents mapped for each query", "exact_sweep"))]
    table(["RMLS, d = 1000, one core", "p50", "p99"], rows)
    print(f"recall@10 of the 8-bit search: {found['recall_at_10']:.5f} over {found['queries']:,} queries; "
          f"{found['same_lists']:,} lists are equal\n", flush=True)


def report_targets(results, overheads, exact):
    rows = []
    for result in results:
        if result["kind"] in FAST:
            p99 = result["half"]["p99_ms"]
            rows.append([f"{result['name']}: p99 at half the highest rate", "at most 10 ms", f"{number(p99)} ms",
                         "yes" if p99 is not None and p99 <= 10 else "NO"])
    for of in overheads:
        if of["kind"].startswith("rerank"):
            rows.append([f"{of['name']}: CPU over the call", "at most 30 %", f"{of['overhead']:.0%}",
                         "yes" if of["overhead"] <= 0.3 else "NO"])
    if exact:
        p50, recall = exact["eight_bit"]["p50_ms"], exact["recall_at_10"]
        rows.append(["RMLS by 8-bit images: p50 on one core", "at most 15 ms", f"{number(p50)} ms", "yes" if p50 <= 15 else "NO"])
        rows.append(["RMLS by 8-bit images: recall@10", "at least 0.999", f"{recall:.5f}", "yes" if recall >= 0.999 else "NO"])
    failed = sum(figures["failed"] for result in results for figures in [*result["closed"], result["half"]])
    rows.append(["failed requests", "0", failed, "yes" if failed == 0 else "NO"])
    table(["target", "wanted", "found", "met"], rows)


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    lib.add_options(parser, "/tmp/matchrank-week")
    parser.add_argument("--oha", default="oha", help="the load generator")
    parser.add_argument("--library", type=Path, default=lib.TARGET / "examples" / "library_calls",
                        help="the example that measures calls; left out if it does not exist")
    parser.add_argument("--seconds", type=int, default=15, help="length of each measurement")
    parser.add_argument("--connections", type=int, nargs="+", default=[2, 4, 8], help="closed loops to try")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS), help="requests to measure")
    parser.add_argument("--queries", type=int, default=2000, help="queries, at most")
    parser.add_argument("--client-threads", type=int, default=1, help="threads of the load generator")
    parser.add_argument("--quiet", action="store_true", help="no log of requests, which the service writes by default")
    parser.add_argument("--prepare", action="store_true", help="make data and models, and end")
    return parser.parse_args()


def main():
    args = options()
    models = lib.models_of_one_week(args.program, args.data)
    if args.prepare:
        return
    random.seed(args.seed)
    log = args.data / "log"
    queries = lib.judged_queries(log)
    random.shuffle(queries)
    queries = queries[: args.queries]
    served = [part for name, file in FILES.items() for part in ("--model", f"{name}={models[file]}")]
    results, bodies = [], {}
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        with open(folder / "requests.log", "w") as requests:
            with Service(args.program, "--data", args.data / "week", *served, *(["--quiet"] if args.quiet else []),
                         log=requests) as service:
                print(f"{len(queries):,} queries; the service took {service.seconds_to_start:.1f} s to start and has "
                      f"{service.memory()[0] >> 20:,} MiB\n", flush=True)
                candidates = lib.rerank_candidates(service, queries, lib.document_ids(log), "words", args.seed)
                for kind in args.kinds:
                    _, path, model, fields = KINDS[kind]
                    bodies[kind] = (lib.search_bodies(queries, model, **fields) if path == "/v1/search"
                                    else lib.rerank_bodies(queries, candidates, model))
                    result = load(args, kind, service, bodies[kind], folder)
                    if result:
                        results.append(result)
                        print(f"{result['name']}: {result['best']['rate']:,.0f} requests a second, p99 at half of it "
                              f"{number(result['half']['p99_ms'])} ms", file=sys.stderr, flush=True)
        report_load(results)
        overheads, exact = [], None
        if args.library.exists():
            for_library = folder / "library.jsonl"
            for_library.write_text("\n".join(lib.rerank_bodies(queries, candidates, "words")) + "\n")
            calls = {}
            for path, task in (("/v2/rerank", "rerank"), ("/v1/search", "search")):
                wanted = {KINDS[r["kind"]][2] for r in results if KINDS[r["kind"]][1] == path and not KINDS[r["kind"]][3]}
                if wanted:
                    calls[path] = library(args, task, for_library, sorted(wanted))
            overheads = report_overhead(results, calls)
            if any(KINDS[kind][2] == "rmls" for kind in args.kinds):
                exact = library(args, "exact", for_library, ["rmls"], threads=1)["rmls"]
                report_exact(exact)
        report_targets(results, overheads, exact)
        save(args.out, [{"machine": lib.machine()}, *results, *({"overhead": of} for of in overheads),
                        *([{"exact": exact}] if exact else [])])


if __name__ == "__main__":
    main()
