"""Real workers that can be killed: each job runs in an operating-system process of its own.

Starting Django costs about a second, and a kill test wants twenty workers at once. So one process sets up Django,
opens nothing, and forks for each job. A forked worker is a fair worker: it is an ordinary process with its own process
id, its own database connection, its own HTTP client and its own memory, all made after the fork; it runs the product's
engine through the same functions as a Celery task; SIGKILL ends it at once, and nothing of it survives but what it had
committed. What it does not have is a broker, and nothing that is claimed to be safe may depend on one. Where the broker
itself matters, the tests start a real `celery worker`.

A worker can be told to stand still at a *gate*: it says so and waits for a word. Gates are put around the product's
functions in the forked process only (`tests/crash/jobs.py`), so the product needs no hooks. The process itself, its
connections and its signals are not simulated.
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TextIO

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 30.0
SETTINGS = (
    "PROVIDER_TARGETS",
    "PROVIDER_CONNECT_SECONDS",
    "PROVIDER_READ_SECONDS",
    "PROVIDER_TOTAL_SECONDS",
    "LEASE_SECONDS",
    "LEASE_MARGIN_SECONDS",
)

type Json = dict[str, Any]


class WorkerGone(AssertionError):
    """The worker ended before it said what was waited for."""


class Worker:
    """One forked worker, as the test holds it."""

    def __init__(self, pid: int, line: socket.socket, words: TextIO) -> None:
        self.pid = pid
        self._line, self._words = line, words

    def wait_for(self, event: str) -> Json:
        """The next thing it says, which must be this."""
        word = self._words.readline()
        if not word:
            raise WorkerGone(f"worker {self.pid} ended before it said {event}")
        said: Json = json.loads(word)
        assert said["event"] == event, said
        return said

    def go(self) -> None:
        """Let it go on from the gate where it stands."""
        self._line.sendall(b"go\n")

    def result(self) -> Json:
        """Wait until its job is done."""
        return self.wait_for("done")

    def kill(self) -> None:
        """SIGKILL, and wait until the system has closed everything it held."""
        os.kill(self.pid, signal.SIGKILL)
        assert self._words.read() == "", "it said something before it died"
        self._line.close()

    def stop(self) -> None:
        """SIGSTOP, and wait until it stands still."""
        os.kill(self.pid, signal.SIGSTOP)
        while (
            "T" not in subprocess.run(["ps", "-o", "stat=", "-p", str(self.pid)], capture_output=True, text=True).stdout
        ):
            pass

    def cont(self) -> None:
        """SIGCONT."""
        os.kill(self.pid, signal.SIGCONT)

    def close(self) -> None:
        """End it, whatever it is doing."""
        with contextlib.suppress(OSError):
            self.go()
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        self._words.close()
        self._line.close()


class Workers:
    """The process that forks workers, and the door through which they report."""

    def __init__(self, environment: dict[str, str]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="workers-")
        self._door = str(Path(self._folder.name) / "door")
        self.log = Path(self._folder.name) / "log"
        self._environment = environment
        self._hired: list[Worker] = []
        self._waiting: dict[int, Worker] = {}
        self._orders = 0

    def __enter__(self) -> Self:
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(self._door)
        self._listener.listen(128)
        self._listener.settimeout(PATIENCE)
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.support.workers"],
                cwd=ROOT,
                env={**os.environ, **self._environment, "WORKERS_DOOR": self._door},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
            )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n", self.log.read_text()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.dismiss()
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(PATIENCE)
        self._process.stdout.close()
        self._listener.close()
        self._folder.cleanup()

    def hire(self, job: str, *, gate: str = "", **order: Any) -> Worker:
        """Fork a worker for this job of `tests.crash.jobs`, under the test's own settings of this moment."""
        from django.conf import settings

        self._orders += 1
        number = self._orders
        chosen = {name: getattr(settings, name) for name in SETTINGS}
        assert self._process.stdin is not None
        self._process.stdin.write(
            json.dumps({"number": number, "job": job, "gate": gate, "settings": chosen, **order}) + "\n"
        )
        self._process.stdin.flush()
        while number not in self._waiting:
            self._admit()
        return self._waiting.pop(number)

    def dismiss(self) -> None:
        """End every worker that was hired and is still there."""
        for worker in self._hired:
            worker.close()
        self._hired.clear()

    def _admit(self) -> None:
        line, _ = self._listener.accept()
        line.settimeout(PATIENCE)
        words = line.makefile("r", encoding="utf-8")
        hello = json.loads(words.readline())
        worker = Worker(hello["pid"], line, words)
        self._hired.append(worker)
        self._waiting[hello["number"]] = worker


class Desk:
    """A forked worker's own end: what it says, and where it waits."""

    def __init__(self, order: Json) -> None:
        self._line = socket.socket(socket.AF_UNIX)
        self._line.connect(os.environ["WORKERS_DOOR"])
        self._words = self._line.makefile("r", encoding="utf-8")
        self.say("hired", number=order["number"], pid=os.getpid())

    def say(self, event: str, **facts: Any) -> None:
        """One line to the test."""
        self._line.sendall((json.dumps({"event": event, **facts}) + "\n").encode())

    def stand_at(self, gate: str, **facts: Any) -> None:
        """Say where we are and wait for the word; without a test on the other side there is nothing to wait for."""
        self.say(gate, **facts)
        if not self._words.readline():
            os._exit(1)


def serve() -> None:
    """Set up Django once, then fork for every order until standard input ends."""
    import django

    django.setup()
    from tests.crash import jobs

    jobs.warm_up()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    print("ready", flush=True)
    for line in sys.stdin:
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            jobs.run(json.loads(line))
            os._exit(0)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    serve()
