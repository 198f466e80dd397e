#!/usr/bin/env python3
"""Kills `matchrank serve` under load, at random moments, and checks that nothing acknowledged is lost or counted twice.

    cargo build --release -p matchrank
    python3 bench/service/kill_serve.py --kills 300

Threads send events (one to twelve in a request, every sixth request with retries), document changes (alone and in bulk),
activations and rollbacks of a model, and searches. The process is killed with SIGKILL after a random time from readiness;
some kills hit it while it starts. Then:

- after every kill: `models.json` names the version that was acknowledged last, or that of a request without an answer;
- after every restart: so does the service; each document that was changed has its last acknowledged version, or that of a
  request without an answer, which is applied as a whole or not at all; a retry of acknowledged events finds duplicates
  alone, and requests of events without an answer are sent again;
- every --check-every kills: `events export` has each acknowledged event once, and the documents;
- every --learn-every kills: the models that learn while serving are, byte for byte, those that `update` makes of
  `events export --tuples` and `--lists`.
"""

import argparse
import json
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import service as lib
from service import NO_ANSWER, Service, number, quantile, save, table

ORIGINAL = "original"
LEARNERS = {"preferences": ("tuples", "--tuples"), "lists": ("lists", "--lists")}


def make_models(program, folder):
    """A simulated dataset, two versions of RMLS, and two models that learn; made once."""
    log, data = lib.simulate(program, folder, "small")
    models = {name: lib.train(program, folder, name, "rmls", "--set", f"d={d}") for name, d in (("rmls", 20), ("rmls-2", 16))}
    models["bm25"] = lib.train(program, folder, "bm25", "bm25")
    settings = "variant=sparse margin=0.5 c=0.5 lambda=0.001 shrink_every=7 tuples=500 blend=1".split()
    settings = [part for setting in settings for part in ("--set", setting)]
    models["preferences"] = lib.train(program, folder, "preferences", "sparse-preference", *settings)
    models["lists"] = folder / "models" / "lists.model"
    if not models["lists"].exists():
        lists = folder / "train.txt"
        lists.write_text("".join(f"{i % 3} qid:{i // 4} 1:{i % 7}.5 2:{i % 5}\n" for i in range(40)))
        lib.run(program, "train", "perceptron", "--letor", lists, "--out", models["lists"], "--quiet")
    return log, data, models


class Failed(Exception):
    """What was acknowledged is not there, or twice."""


def expect(condition, message):
    if not condition:
        raise Failed(message() if callable(message) else message)


class Events:
    """Events that were sent, by id: the kind, and the rows of an export."""

    def __init__(self, queries, documents):
        self.queries, self.documents = queries, documents
        self.sent, self.acknowledged, self.of_round = {}, set(), []
        self.unanswered = []
        self.lock = threading.Lock()
        self.retried = 0

    def make(self, rng, id):
        query, documents = rng.choice(self.queries), rng.sample(self.documents, 4)
        kind = rng.choice(["search", "click", "click", "preference", "preference", "list"])
        event = {"event": kind, "id": id, "user": id}
        if kind == "search":
            event |= {"search": f"s-{id}", "query": query, "shown": documents}
        elif kind == "click":
            event |= {"query": query, "document": documents[0], "position": rng.randrange(1, 10)}
        elif kind == "preference":
            event |= {"query": f"{query} mark{id}", "better": documents[0], "worse": documents[1]}
        else:
            features = lambda: {"1": rng.randrange(7) + 0.5, "2": rng.randrange(5)}
            event["documents"] = [{"id": f"{id}-{place}", "grade": place % 3, "features": features()} for place in range(3)]
        return event

    def send(self, client, rng, prefix, n):
        """Sends one request; raises an error of the connection if there is no answer."""
        new = [self.make(rng, f"{prefix}.{n}.{place}") for place in range(rng.choice([1, 1, 3, 12]))]
        with self.lock:
            retries = []
            if n % 6 == 5 and self.of_round:
                retries = [self.sent[id] for id in rng.sample(self.of_round, min(4, len(self.of_round)))]
            self.sent |= {event["id"]: event for event in new}
        events = new + retries
        rng.shuffle(events)
        body = json.dumps(events) if rng.random() < 0.5 else "\n".join(json.dumps(event) for event in events)
        try:
            status, answer = client.post("/v1/events", body)
        except NO_ANSWER:
            with self.lock:
                self.unanswered.append(new)
            raise
        expect(status == 200, f"events: status {status}, {answer}")
        counts = (answer["accepted"], answer["duplicates"])
        expect(counts == (len(new), len(retries)), f"events: {counts} for {len(new)} new ones and {len(retries)} retries")
        self.acknowledge(new)
        self.retried += len(retries)

    def acknowledge(self, events):
        with self.lock:
            for event in events:
                self.acknowledged.add(event["id"])
                self.of_round.append(event["id"])

    def after_restart(self, client, rng):
        """Retries what was acknowledged, and sends most of the requests again that had no answer."""
        ids = rng.sample(self.of_round, min(300, len(self.of_round)))
        if ids:
            status, answer = client.post("/v1/events", [self.sent[id] for id in ids])
            expect(status == 200, f"retries: status {status}, {answer}")
            expect((answer["accepted"], answer["duplicates"]) == (0, len(ids)),
                   f"{len(ids)} acknowledged events were sent again: {answer}")
            self.retried += len(ids)
        stored = 0
        for events in self.unanswered:
            if rng.random() < 0.8:
                status, answer = client.post("/v1/events", events)
                expect(status == 200, f"a retry: status {status}, {answer}")
                expect(answer["accepted"] + answer["duplicates"] == len(events), f"{len(events)} events: {answer}")
                # A request is one transaction.
                expect(answer["accepted"] in (0, len(events)), f"a request of {len(events)} events was half stored: {answer}")
                stored += answer["duplicates"] > 0
                self.acknowledge(events)
        self.unanswered, self.of_round = [], self.of_round[-2000:]
        return stored

    def check(self, folder, summary):
        """Compares with the files of an export."""
        sequences, rows = {}, Counter()
        for line in open(folder / "rows.jsonl", encoding="utf-8"):
            row = json.loads(line)
            rows[row["user_id"]] += 1
            sequences.setdefault(row["user_id"], set()).add(row["sequence"])
        twice = [id for id, of_id in sequences.items() if len(of_id) > 1]
        expect(not twice, lambda: f"{len(twice)} events are stored twice: {[(id, sequences[id]) for id in twice[:5]]}")
        for line in open(folder / "tuples.jsonl", encoding="utf-8"):
            marks = [word[4:] for word in json.loads(line).get("query", "").split() if word.startswith("mark")]
            rows.update(marks)
        for line in open(folder / "lists.jsonl", encoding="utf-8"):
            rows[json.loads(line)["documents"][0]["id"].rsplit("-", 1)[0]] += 1
        for id, n in rows.items():
            expect(id in self.sent, f"the event {id} was never sent")
            of = self.sent[id]
            wanted = len(of["shown"]) if of["event"] == "search" else 1
            expect(n == wanted, lambda: f"{id}, a {of['event']}, has {n} rows, not {wanted}")
        lost = self.acknowledged - rows.keys()
        expect(not lost, lambda: f"{len(lost)} acknowledged events are lost: {sorted(lost)[:5]}")
        expect(summary["events"] == len(rows), f"the log has {summary['events']} events, of which {len(rows)} were sent")
        return len(rows)


class Documents:
    """Documents of one thread: the version that was acknowledged last, and those of a request without an answer."""

    def __init__(self, thread, originals):
        self.thread = thread
        self.known = {id: ORIGINAL for id in originals} | {f"new-{thread}-{i}": None for i in range(30)}
        self.changed, self.unanswered, self.version = set(), {}, 0

    def send(self, client, rng, _, n):
        ids = rng.sample(sorted(self.known), rng.choice([1, 1, 1, 2, 8]))
        changes = {}
        for id in ids:
            self.version += 1
            changes[id] = None if self.known[id] is not None and rng.random() < 0.3 else self.version
        put = {id: {"title": f"document of version {version}", "version": version}
               for id, version in changes.items() if version is not None}
        self.unanswered = changes
        if len(changes) == 1:
            (id, version), = changes.items()
            status, answer = client.document("PUT" if version is not None else "DELETE", id, put.get(id))
        else:
            body = {"put": [{"id": id, "fields": fields} for id, fields in put.items()],
                    "delete": [id for id, version in changes.items() if version is None]}
            status, answer = client.post("/v1/documents", body)
        expect(status == 200, f"documents: status {status}, {answer}, {changes}")
        self.known |= changes
        self.changed |= changes.keys()
        self.unanswered = {}

    def settle(self, read):
        """Compares with what is stored; `read` returns the version of a document."""
        found = {id: read(id) for id in self.unanswered}
        before = {id: self.known[id] for id in self.unanswered}
        expect(found in (before, self.unanswered),
               f"a request was applied in part: {before} was to become {self.unanswered}, and is {found}")
        applied = self.unanswered and found == self.unanswered
        self.known |= found
        for id in self.changed - found.keys():
            version = read(id)
            expect(version == self.known[id], f"{id} was acknowledged as {self.known[id]}, and is {version}")
        self.changed, self.unanswered = set(), {}
        return bool(applied)


class Activations:
    """The version of a model that takes the traffic, and the one before."""

    def __init__(self):
        self.current, self.previous, self.unanswered = (1, "rmls.model"), None, None
        self.highest, self.acknowledged = 1, 0

    def send(self, client, rng, _, n):
        if self.previous and rng.random() < 0.25:
            self.unanswered = ("rollback", self.previous[1])
            status, answer = client.post("/v1/models/rmls/rollback", {})
        else:
            self.unanswered = ("activate", rng.choice(["rmls.model", "rmls-2.model"]))
            status, answer = client.post("/v1/models/rmls/activate", {"file": self.unanswered[1], "reason": "kills"})
        expect(status == 200, f"{self.unanswered}: status {status}, {answer}")
        self.apply((answer["current"]["version"], answer["current"]["file"]))
        self.acknowledged += 1
        time.sleep(rng.random() * 0.05)

    def is_possible(self, found):
        """Returns true if a request without an answer may have had this outcome."""
        if self.unanswered is None:
            return False
        action, file = self.unanswered
        return found == self.previous if action == "rollback" else found[0] > self.highest and found[1] == file

    def apply(self, found):
        expect(self.is_possible(found), f"{self.unanswered} led from {self.current} to {found}")
        self.current, self.previous = found, self.current
        self.highest, self.unanswered = max(self.highest, found[0]), None

    def check(self, found):
        expect(found == self.current or self.is_possible(found),
               f"version {self.current} was acknowledged, {self.unanswered} had no answer, and {found} is active")

    def settle(self, found):
        self.check(found)
        applied = found != self.current
        if applied:
            self.apply(found)
        self.unanswered = None
        return applied

    def check_file(self, state):
        """The file alone, before the next start."""
        path = state / "models.json"
        if path.exists():
            current = json.loads(path.read_text())["models"]["rmls"]["current"]
            self.check((current["number"], current["file"]))


class Searches:
    def __init__(self, queries):
        self.queries, self.answered = queries, 0

    def send(self, client, rng, _, n):
        status, answer = client.post("/v1/search", {"query": rng.choice(self.queries), "model": rng.choice(["rmls", "words"])})
        expect(status == 200, f"a search: status {status}, {answer}")
        scores = [hit["score"] for hit in answer["hits"]]
        expect(scores == sorted(scores, reverse=True), f"the scores are not sorted: {scores}")
        self.answered += 1


class Kills:
    def __init__(self, args, folder):
        self.args, self.rng = args, random.Random(args.seed)
        log, self.data, self.models = make_models(args.program, args.data)
        self.folder, self.state = folder, folder / "state"
        queries, ids = lib.judged_queries(log), lib.document_ids(log)
        self.events = Events(queries, ids[200:])
        self.documents = [Documents(thread, ids[thread:60:args.document_threads]) for thread in range(args.document_threads)]
        self.activations, self.searches = Activations(), Searches(queries)
        self.senders = [*[self.events] * args.event_threads, *self.documents, self.activations, self.searches]
        self.starts, self.counts, self.problems = [], Counter(), []
        self.log = open(folder / "log", "w")

    def options(self):
        served = [("rmls", "rmls"), ("words", "bm25"), ("preferences", "preferences"), ("lists", "lists")]
        models = [part for name, file in served for part in ("--model", f"{name}={self.models[file]}")]
        return ["--data", self.data, *models, "--state", self.state, *(part for name in LEARNERS for part in ("--learn", name))]

    def start(self, wait=True):
        return Service(self.args.program, *self.options(), log=self.log, wait=wait)

    def kill_while_starting(self):
        """Kills a process somewhere between its first instruction and readiness."""
        with self.start(wait=False) as service:
            time.sleep(self.rng.random() * (quantile(sorted(self.starts), 0.5) or 0.2))
            service.kill()
        self.counts["kills while starting"] += 1

    def round(self, number):
        """Starts the service, checks what the kill before left, loads it and kills it."""
        if number > 1 and self.rng.random() < self.args.while_starting:
            self.kill_while_starting()
            return
        with self.start() as service:
            self.starts.append(service.seconds_to_start)
            self.after_restart(service)
            stop, problems = threading.Event(), []
            threads = [
                threading.Thread(target=self.send, args=(service, sender, f"{number}.{thread}", stop, problems))
                for thread, sender in enumerate(self.senders)
            ]
            [thread.start() for thread in threads]
            time.sleep(self.rng.uniform(self.args.shortest, self.args.longest))
            ended = service.process.poll()
            service.kill()
            stop.set()
            [thread.join() for thread in threads]
            expect(ended is None, f"the service ended by itself with exit code {ended}")
        if problems:
            raise problems[0]
        self.counts["kills under load"] += 1
        self.activations.check_file(self.state)

    def send(self, service, sender, prefix, stop, problems):
        rng, client, n = random.Random(f"{self.args.seed} {prefix}"), service.client(), 0
        try:
            while not stop.is_set():
                sender.send(client, rng, prefix, n)
                n += 1
        except NO_ANSWER as error:
            # The process was alive: the connection must not fail.
            if not stop.is_set() and service.process.poll() is None:
                time.sleep(0.2)
                if service.process.poll() is None:
                    problems.append(Failed(f"{prefix}: {type(error).__name__}: {error}"))
        except Exception as error:
            problems.append(error)
        finally:
            client.close()

    def after_restart(self, service):
        client = service.client()
        status, answer = client.get("/v1/models")
        expect(status == 200, f"models: status {status}")
        rmls = next(model for model in answer["models"] if model["name"] == "rmls")
        self.counts["activations without an answer that counted"] += self.activations.settle(
            (rmls["current"]["version"], rmls["current"]["file"]))

        def read(id):
            status, answer = client.document("GET", id)
            expect(status in (200, 404), f"{id}: status {status}, {answer}")
            return answer["fields"].get("version", ORIGINAL) if status == 200 else None

        for documents in self.documents:
            self.counts["document requests without an answer that counted"] += documents.settle(read)
        self.counts["event requests without an answer that counted"] += self.events.after_restart(client, self.rng)
        client.close()

    def export(self):
        """Exports the log that a kill left, and compares everything."""
        of = self.folder / "export"
        of.mkdir(exist_ok=True)
        summary = json.loads(lib.run(
            self.args.program, "events", "export", "--state", self.state, "--out", of / "rows.jsonl", "--tuples",
            of / "tuples.jsonl", "--lists", of / "lists.jsonl", "--documents", of / "documents.jsonl", "--removed",
            of / "removed.txt", "--format", "json"))
        n_events = self.events.check(of, summary)
        stored = {document["id"]: document["version"] for document in map(json.loads, open(of / "documents.jsonl"))}
        stored |= dict.fromkeys((of / "removed.txt").read_text().split())
        for documents in self.documents:
            for id, version in documents.known.items():
                found = stored.get(id, ORIGINAL if id in documents.known and not id.startswith("new-") else None)
                expect(found in (version, documents.unanswered.get(id, version)),
                       f"the export has {id} as {found}, which was acknowledged as {version}")
        return n_events

    def learned(self):
        """Ends the service once it has learned everything; compares its models with those of `update`."""
        with self.start() as service:
            self.after_restart(service)
        # What was sent again is learned by the next process.
        with self.start() as service:
            if self.rng.random() < 0.5:
                service.kill()
            else:
                code = service.stop()
                expect(code == 0, f"exit code {code} after SIGTERM")
        n_lessons = {}
        self.export()
        for name, (lessons, option) in LEARNERS.items():
            online = list((self.state / "learners").glob(f"{name}-*.model"))
            expect(len(online) == 1, f"checkpoints of {name}: {online}")
            offline, path = self.folder / "offline.model", self.folder / "export" / f"{lessons}.jsonl"
            data = ["--data", self.data] if lessons == "tuples" else []
            with open(path) as lines:
                # Exit code 1: some lines were left out.
                lib.run(self.args.program, "update", self.models[name], option, "-", *data, "--out", offline, "--quiet",
                        stdin=lines, codes=(0, 1))
            expect(online[0].read_bytes() == offline.read_bytes(), f"{name}: the learned model differs from that of update")
            n_lessons[name] = sum(1 for _ in open(path))
        self.counts["comparisons of learned models"] += len(LEARNERS)
        return n_lessons

    def run(self):
        started, n_events, n_lessons = time.monotonic(), 0, {}
        for number in range(1, self.args.kills + 1):
            self.round(number)
            if number % self.args.check_every == 0 or number == self.args.kills:
                n_events = self.export()
                self.counts["exports"] += 1
            if number % self.args.learn_every == 0 or number == self.args.kills:
                n_lessons = self.learned()
            if number % 10 == 0 or number == self.args.kills:
                print(f"{number} kills: {n_events:,} events stored, {len(self.events.acknowledged):,} acknowledged, "
                      f"{self.activations.acknowledged:,} activations, lessons {n_lessons}, "
                      f"{time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
        starts = sorted(self.starts)
        return {
            "kills": self.args.kills, **self.counts, "events stored": n_events,
            "events acknowledged": len(self.events.acknowledged), "events sent again": self.events.retried,
            "document changes": sum(documents.version for documents in self.documents),
            "activations acknowledged": self.activations.acknowledged, "searches answered": self.searches.answered,
            **{f"lessons: {name}": n for name, n in n_lessons.items()},
            "seconds to start, median": quantile(starts, 0.5), "seconds to start, longest": starts[-1],
            "bytes of the log": (self.state / "store.redb").stat().st_size, "seconds": time.monotonic() - started,
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    lib.add_options(parser, "/tmp/matchrank-small")
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--shortest", type=float, default=0.2, help="seconds from readiness to a kill, at least")
    parser.add_argument("--longest", type=float, default=1.5, help="seconds from readiness to a kill, at most")
    parser.add_argument("--while-starting", type=float, default=0.15, help="share of kills that hit a start")
    parser.add_argument("--event-threads", type=int, default=4)
    parser.add_argument("--document-threads", type=int, default=2)
    parser.add_argument("--check-every", type=int, default=5, help="kills from one export to the next")
    parser.add_argument("--learn-every", type=int, default=10, help="kills from one comparison of models to the next")
    parser.add_argument("--keep", type=Path, help="folder for the state of a run that failed")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        kills = Kills(args, Path(folder))
        try:
            result = kills.run()
        except Failed as problem:
            print(f"FAILED after {sum(kills.counts[kind] for kind in ('kills under load', 'kills while starting'))} kills: "
                  f"{problem}", file=sys.stderr)
            if args.keep:
                import shutil
                shutil.copytree(folder, args.keep, dirs_exist_ok=True)
                print(f"the state is in {args.keep}", file=sys.stderr)
            sys.exit(1)
    table(["", "found"], [[name, value] for name, value in result.items()])
    print("Nothing acknowledged was lost or counted twice, and all models were those of `update`.")
    save(args.out, [{"machine": lib.machine()}, result])


if __name__ == "__main__":
    main()
