"""Real processes of the console on the test database: gunicorn, a Celery worker, the sweep."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

from django.conf import settings
from django.db import connection

from operations.models import User
from opsconsole.embedded.launch import answers
from tests.support.sockets import free_port
from tests.support.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 40
PASSWORD = "a-long-password-for-tests"


def database_url() -> str:
    """Where the tests' own database is, for processes beside the tests."""
    where: dict[str, Any] = connection.get_connection_params()
    host = quote(str(where.get("host") or ""), safe="")
    secret = f":{quote(where['password'], safe='')}" if where.get("password") else ""
    return f"postgres://{quote(where['user'], safe='')}{secret}@{host}:{where.get('port') or 5432}/{where['dbname']}"


def environment(**more: str) -> dict[str, str]:
    """What every process of the console gets: the test database, the providers of these tests."""
    targets = ",".join(f"{name}={url}" for name, url in settings.PROVIDER_TARGETS.items())
    return {
        **os.environ,
        "DATABASE_URL": database_url(),
        "PROVIDER_TARGETS": targets,
        "ALLOWED_HOSTS": "127.0.0.1",
        "STATIC_ROOT": str(settings.STATIC_ROOT),
        "PYTHONUNBUFFERED": "1",
        **more,
    }


def let_sign_in(*people: User) -> None:
    """Give these people the tests' password."""
    for person in people:
        person.set_password(PASSWORD)
        person.save(update_fields=["password"])


class Program:
    """One process for the length of a `with` block; what it said is in `said`."""

    def __init__(self, name: str, *arguments: str, env: Mapping[str, str]) -> None:
        self.name = name
        self._command = [sys.executable, *arguments]
        self._env = dict(env)
        self._folder = tempfile.TemporaryDirectory(prefix=f"{name}-")
        self.ready_file = Path(self._folder.name) / "ready"
        self._env["OPSCONSOLE_READY_FILE"] = str(self.ready_file)
        self._sessions = f"{name} {self._folder.name[-8:]}"
        self._env["PGAPPNAME"] = self._sessions
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        self._folder.cleanup()

    @property
    def pid(self) -> int:
        """Its process id."""
        assert self._process is not None
        return self._process.pid

    @property
    def said(self) -> str:
        """Everything it printed."""
        return (Path(self._folder.name) / "log").read_text()

    def start(self) -> None:
        """Start it and wait until it is ready."""
        self.ready_file.unlink(missing_ok=True)
        with (Path(self._folder.name) / "log").open("ab") as log:
            self._process = subprocess.Popen(self._command, cwd=ROOT, env=self._env, stdout=log, stderr=log)
        wait_until(lambda: self.ready() or not self.alive(), PATIENCE, what=f"{self.name} did not become ready")
        assert self.alive(), self.said

    def ready(self) -> bool:
        """Whether it does its work now."""
        return self.ready_file.exists()

    def alive(self) -> bool:
        """Whether it still runs."""
        return self._process is not None and self._process.poll() is None

    def wait_until_killed(self) -> None:
        """Return once somebody has killed it with SIGKILL."""
        assert self._process is not None
        assert self._process.wait(PATIENCE) == -signal.SIGKILL

    def stop(self) -> None:
        """Stop it if it runs, and wait until the database has noticed: it could not be dropped before."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(PATIENCE)
        self._process = None
        wait_until(self._left_the_database, PATIENCE, what=f"{self.name} still has a session")

    def _left_the_database(self) -> bool:
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE application_name = %s", [self._sessions])
            row = cursor.fetchone()
        return row is not None and row[0] == 0


class Site(Program):
    """gunicorn with that many processes."""

    def __init__(self, *, processes: int = 1, **more: str) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        super().__init__(
            "gunicorn",
            *("-m", "gunicorn", "opsconsole.wsgi:application", "--bind", f"127.0.0.1:{self.port}"),
            *("--worker-class", "gthread", "--workers", str(processes), "--threads", "4"),
            *("--graceful-timeout", "3", "--no-control-socket"),
            env=environment(PUBLIC_URL=self.url, **more),
        )

    def ready(self) -> bool:
        return answers("127.0.0.1", self.port, "/readyz")


class Worker(Program):
    """One Celery worker process."""

    def __init__(self, **more: str) -> None:
        super().__init__(
            "worker",
            *("-m", "celery", "-A", "opsconsole", "worker", "--pool", "threads", "--concurrency", "4"),
            *("--without-gossip", "--without-mingle", "--loglevel", "WARNING"),
            env=environment(**more),
        )


class Sweep(Program):
    """The process that finds what no bell announced."""

    def __init__(self, **more: str) -> None:
        super().__init__("sweep", "manage.py", "sweep", env=environment(SWEEP_SECONDS="1", **more))

    def ready(self) -> bool:
        return self.alive()
