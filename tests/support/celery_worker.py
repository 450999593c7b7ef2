"""A real `celery worker`, with the options the product starts it with, on a database of the broker of its own."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import redis
from celery import Celery
from django.conf import settings

from tests.operations.scenario import database_url
from tests.support.waiting import wait_until
from tests.support.workers import ROOT, SETTINGS

THREADS = ["--pool", "threads", "--concurrency", "4"]


class CeleryWorker:
    """One running worker."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self.pid = process.pid

    def kill(self) -> None:
        """SIGKILL to everything it started, and wait for its end."""
        os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()

    def terminate(self, *, grace: float) -> None:
        """SIGTERM, and SIGKILL when it has not ended after that many seconds, as a container's host does."""
        self._process.terminate()
        try:
            self._process.wait(grace)
        except subprocess.TimeoutExpired:
            self.kill()


class Bell:
    """Rings as the product does, on a broker database where only this test's workers listen."""

    def __init__(self) -> None:
        parts = urlsplit(settings.CELERY_BROKER_URL)
        self.url = parts._replace(path="/5").geturl()
        self._valkey: Any = redis.Redis.from_url(self.url)
        self._app = Celery()

    def ring(self, operation_id: str, times: int = 1) -> None:
        """Deliver the message so often."""
        with self._app.connection_for_write(self.url) as line:  # by name: the environment's broker would come first
            for _ in range(times):
                self._app.send_task("opsconsole.resume", args=[operation_id], ignore_result=True, connection=line)

    def clear(self) -> None:
        """Forget what nobody has taken yet."""
        self._valkey.flushdb()

    def wait_until_taken(self) -> None:
        """Return once no message waits in the queue any more."""
        wait_until(lambda: self._valkey.llen("celery") == 0, 20, what="all messages taken")

    def close(self) -> None:
        """Forget everything and hang up."""
        self.clear()
        self._app.close()
        self._valkey.close()


@contextmanager
def bell() -> Iterator[Bell]:
    """A bell with nothing rung yet."""
    one = Bell()
    one.clear()
    try:
        yield one
    finally:
        one.close()


@contextmanager
def celery_worker(bell: Bell) -> Iterator[CeleryWorker]:
    """A worker that listens, under the test's own settings of this moment. Killed at the end if it still runs."""
    with tempfile.TemporaryDirectory(prefix="celery-") as folder:
        ready, log = Path(folder) / "ready", Path(folder) / "log"
        command = [sys.executable, "-m", "celery", "-A", "opsconsole", "worker", *THREADS]
        command += ["--without-gossip", "--without-mingle", "--loglevel", "WARNING"]
        with log.open("wb") as output:
            process = subprocess.Popen(
                command,
                cwd=ROOT,
                env={**_environment(bell), "OPSCONSOLE_READY_FILE": str(ready)},
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        worker = CeleryWorker(process)
        try:
            wait_until(lambda: ready.exists() or process.poll() is not None, 30, what="the worker's start")
            assert process.poll() is None, log.read_text()
            yield worker
        finally:
            if process.poll() is None:
                worker.kill()


def _environment(bell: Bell) -> dict[str, str]:
    chosen = {name: str(getattr(settings, name)) for name in SETTINGS if name != "PROVIDER_TARGETS"}
    targets = ",".join(f"{name}={url}" for name, url in settings.PROVIDER_TARGETS.items())
    return {
        **os.environ,
        **chosen,
        "DATABASE_URL": database_url(),
        "CELERY_BROKER_URL": bell.url,
        "PROVIDER_TARGETS": targets,
        "BANK_MAIN_TOKEN": "test-token",
    }
