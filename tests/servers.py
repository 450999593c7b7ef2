"""A pytest plugin: a real PostgreSQL and a real Valkey for this run, before Django reads its settings.

Loaded with `-p tests.servers`. DATABASE_URL and CELERY_BROKER_URL, when set, point to other servers and nothing is
started for them. The servers stop at the end of the run; if the run is killed, the guard stops them.
"""

import atexit
import os
import secrets
import shutil
import tempfile
from pathlib import Path

import pytest

from opsconsole.embedded.broker import Broker
from opsconsole.embedded.guard import Guard
from opsconsole.embedded.ports import Ports
from opsconsole.embedded.postgres import Postgres
from opsconsole.embedded.processes import Supervisor


class Servers:
    """The servers of one run, in a folder that goes with them."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="opsconsole-tests-"))
        self._folder.chmod(0o711)
        self._guard = Guard()
        self._guard.remove(self._folder)
        self._supervisor = Supervisor(self._guard, print)
        self._stopped = False
        self._owner = os.getpid()

    def start(self) -> None:
        """Start what the environment does not point to, and point it there."""
        ports = Ports(self._folder / "ports.json")
        if not os.environ.get("DATABASE_URL"):
            postgres = Postgres.at(
                self._folder / "postgres", port=ports.any("postgres"), log=self._folder / "postgres.log"
            )
            self._guard.remove(postgres.data)
            postgres.prepare()
            self._supervisor.start(postgres.service())
            postgres.open_database()
            os.environ["DATABASE_URL"] = postgres.url
        if not os.environ.get("CELERY_BROKER_URL"):
            broker = Broker(self._folder / "valkey", self._folder / "valkey.log", ports.any("valkey"))
            self._supervisor.start(broker.service())
            os.environ["CELERY_BROKER_URL"] = broker.url

    def stop(self) -> None:
        """Stop them and remove the folder; a second call does nothing, nor does one in a forked child."""
        if not self._stopped and os.getpid() == self._owner:
            self._stopped = True
            self._supervisor.stop()
            self._guard.close()
            shutil.rmtree(self._folder, ignore_errors=True)


_running: list[Servers] = []


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Start before pytest-django loads the settings."""
    if early_config.known_args_namespace.help or early_config.known_args_namespace.version:
        return
    os.environ["SECRET_KEY"] = secrets.token_urlsafe(48)
    os.environ["DEBUG"] = "false"
    os.environ["OPSCONSOLE_MODE"] = "test"
    os.environ["PROVIDER_CONTRACT_DIRS"] = str(Path(__file__).parent / "contracts")
    servers = Servers()
    _running.append(servers)
    atexit.register(servers.stop)
    servers.start()


def pytest_unconfigure() -> None:
    """Stop after the last test, also when tests failed or Ctrl-C ended the run."""
    while _running:
        _running.pop().stop()
