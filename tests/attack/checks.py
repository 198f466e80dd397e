"""Runs a command with limits and says what was wrong with its end."""

import hashlib
import os
import re
import resource
import signal
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path

#: A message that repeats a whole file helps nobody.
LONGEST_MESSAGE = 100_000
#: Results that hold names or times.
VARYING = ("manifest.json", "comparison.json", "queries.json", "results", "traces")
STREAM = re.compile(rb'"stream":"(?:[^"\\]|\\.)*"')
CHECKSUM = re.compile(rb'"checksum":"[0-9a-f]*"')
CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


@dataclass
class Program:
    """The program under attack, and what a run of it may take."""

    path: str
    seconds: float = 60.0
    memory: int = 4 << 30

    def run(self, argv, folder, stop=None, prefix=()):
        """Runs it in `folder`. `stop` is (seconds, signal): what to send when."""
        temporary = Path(folder) / "tmp"
        temporary.mkdir(exist_ok=True)
        environment = {**os.environ, "TMPDIR": str(temporary), "RUST_BACKTRACE": "0", "OMP_NUM_THREADS": "1"}

        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (self.memory, self.memory))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            # Seconds of the processor: on a busy machine those of the clock say little.
            resource.setrlimit(resource.RLIMIT_CPU, (int(self.seconds), int(self.seconds) + 5))

        streams = [Path(folder) / "stdout", Path(folder) / "stderr"]
        with open(streams[0], "wb") as out, open(streams[1], "wb") as err:
            started = time.monotonic()
            child = subprocess.Popen([*prefix, self.path, "--threads", "1", *argv], cwd=folder, env=environment, stdout=out,
                                     stderr=err, stdin=subprocess.DEVNULL, start_new_session=True, preexec_fn=limit)
            over = []

            def late():
                over.append(True)
                os.killpg(child.pid, signal.SIGKILL)

            def disturb():
                try:
                    os.kill(child.pid, stop[1])
                except ProcessLookupError:
                    pass

            timers = [threading.Timer(10 * self.seconds, late)] + ([threading.Timer(stop[0], disturb)] if stop else [])
            for timer in timers:
                timer.start()
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            for timer in timers:
                timer.cancel()
        return Ending(argv, child.returncode, streams[0].read_bytes(), streams[1].read_bytes(), usage.ru_maxrss * 1024,
                      time.monotonic() - started, bool(over))


@dataclass
class Ending:
    """How a run ended."""

    argv: list
    code: int
    out: bytes
    err: bytes
    memory: int
    seconds: float
    late: bool

    def text(self):
        return self.err.decode("utf-8", "replace")

    def notes(self):
        """What it said besides results, without times and sizes."""
        return {re.sub(r"[\d.]+ (s|MiB)\b", "", row) for row in self.text().splitlines() if row.startswith("note:")}


def crash(end, limit):
    """Failures that no input may cause: (kind, detail)."""
    text = end.text()
    if end.late or end.code == -signal.SIGXCPU:
        yield "timeout", f"{end.seconds:.0f} s"
        return
    panic = re.search(r"panicked at ([^\n]*):\d+:\n?([^\n]*)", text)
    if panic or end.code == 101:
        place = re.sub(r".*/registry/src/[^/]*/", "", panic.group(1)) if panic else "exit code 101"
        yield f"panic at {place}", panic.group(2)[:200] if panic else ""
    elif "memory allocation of" in text or "out of memory" in text.lower():
        yield "out of memory", next((row for row in text.splitlines() if "memory" in row), "")[:200]
    elif "stack overflow" in text:
        yield "stack overflow", text.strip()[-200:]
    elif end.code < 0:
        yield f"signal {signal.Signals(-end.code).name}", text.strip()[-200:]
    elif end.code not in (0, 1, 2):
        yield f"exit code {end.code}", text.strip()[-200:]
    if end.memory > limit // 2:
        yield "memory", f"{end.memory >> 20} MiB"
    for stream, data in (("standard output", end.out), ("standard error", end.err)):
        found = CONTROL.search(data)
        if found:
            yield f"control byte on {stream}", repr(data[max(0, found.start() - 60):found.end() + 20])[:200]
    if len(end.err) > LONGEST_MESSAGE:
        yield "long message", f"{len(end.err)} bytes of standard error"


def error_names(end, names):
    """The message of an error has to say which file it is about."""
    text = end.text()
    if end.code == 2 and "invalid UTF-8 was detected in one or more arguments" in text:
        return
    if end.code == 2 and not any(name in text for name in names):
        yield "error does not name the file", text.strip()[:200]
    elif end.code == 2 and "\nUsage:" in text:
        yield "usage error", text.strip()[:200]


def digest(folder):
    """SHA-256 of every file of a folder that is a result: an index has names drawn at random, a manifest names of inputs,
    a comparison times."""
    found = {}
    for path in sorted(Path(folder).rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_file() and "/index/" not in f"/{name}" and path.name not in VARYING and path.parent.name not in VARYING:
            found[name] = hashlib.sha256(_without_stream(path.read_bytes())).hexdigest()
    return found


def _without_stream(data):
    """A model file without the hash of the lines it has learned from, which is of their bytes: line ends count there."""
    found = STREAM.search(data)
    return data if not found else CHECKSUM.sub(b"", data[:found.start()] + data[found.end():])


def snapshot(folder):
    """Every path of a folder with its kind and content, links as links."""
    found = {}
    for root, folders, files in os.walk(os.fsencode(folder)):
        for name in (*folders, *files):
            path = os.path.join(root, name)
            if os.path.islink(path):
                found[path] = ("link", os.readlink(path))
            elif os.path.isfile(path):
                with open(path, "rb") as file:
                    found[path] = ("file", hashlib.sha256(file.read()).hexdigest())
            else:
                found[path] = ("folder", "")
    return found


def leftovers(*folders):
    """Temporary files of the program; the lock of a comparison stays."""
    found = []
    for folder in folders:
        for root, inner, files in os.walk(os.fsencode(folder)):
            for name in (*inner, *files):
                if name.startswith((b".matchrank-", b".tmp")) and name != b".matchrank-lock":
                    found.append(os.fsdecode(os.path.join(root, name)))
    return found


def not_finite(folder):
    """Runs with scores that are no numbers."""
    for path in Path(folder).rglob("*.run"):
        for row in path.read_bytes().splitlines():
            fields = row.split()
            if len(fields) >= 5 and fields[4].lower().lstrip(b"+-") in (b"nan", b"inf", b"infinity"):
                return row.decode("utf-8", "replace")[:100]
    return None
