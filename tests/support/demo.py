"""`make run` without make: the demo as a newcomer sees it, with servers and data of its own."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

from operations.models import User
from tests.support.sockets import free_port
from tests.support.visitor import Visitor
from tests.support.waiting import wait_until
from tests.support.web import ROOT

READY = "Ctrl-C stops everything."
PATIENCE = 90
OURS = re.compile(r"^(DATABASE_URL|CELERY_\w+|SECRET_KEY|PORT|HOST|OPSCONSOLE_\w+|PROVIDER_\w+|LEASE_\w+)$")


class Demo:
    """A folder in which quickstart runs; it may be stopped and started again on the same data."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="opsconsole-demo-")
        Path(self._folder.name).chmod(0o711)  # PostgreSQL may run as another user
        self._process: subprocess.Popen[bytes] | None = None
        self._port = str(free_port())

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self.interrupt()
        self._folder.cleanup()

    @property
    def said(self) -> str:
        """What it has printed since its last start."""
        return (Path(self._folder.name) / "said").read_text()

    def start(self) -> None:
        """Start it and wait for the last line that it prints."""
        env = {name: value for name, value in os.environ.items() if not OURS.match(name)}
        env |= {"OPSCONSOLE_HOME": f"{self._folder.name}/home", "PORT": self._port}
        with (Path(self._folder.name) / "said").open("wb") as said:
            command = [sys.executable, "manage.py", "quickstart"]
            self._process = process = subprocess.Popen(command, cwd=ROOT, env=env, stdout=said, stderr=said)
        wait_until(lambda: READY in self.said or process.poll() is not None, PATIENCE, what="the demo is not ready")
        assert process.poll() is None, self.said

    def interrupt(self) -> int:
        """What Ctrl-C does; the exit code."""
        assert self._process is not None
        self._process.send_signal(signal.SIGINT)
        code, self._process = self._process.wait(PATIENCE), None
        return code

    @property
    def url(self) -> str:
        """The printed address."""
        return self._printed(r"ready after \d+ s:  (\S+)")

    @property
    def curls(self) -> list[str]:
        """The printed commands, in their order."""
        return re.findall(r"^curl .*$", self.said, re.MULTILINE)

    def bank_log(self) -> list[dict[str, Any]]:
        """What arrived at the bank, from the printed address."""
        answer = httpx.get(self._printed(r"^What arrived at the bank: (\S+)$"), trust_env=False)
        requests: list[dict[str, Any]] = answer.json()["requests"]
        return requests

    def sign_in(self, role: str) -> Visitor:
        """The first printed person with this role."""
        email, password = re.findall(rf"^  {role} +(\S+) +(\S+)$", self.said, re.MULTILINE)[0]
        return Visitor(self.url, User(email=email), password)

    def _printed(self, pattern: str) -> str:
        found = re.search(pattern, self.said, re.MULTILINE)
        assert found, self.said
        return found[1]


def paste(command: str) -> dict[str, Any]:
    """Do what a printed curl does, so that the tests need none; the answer, which must not be a refusal."""
    words = shlex.split(command)
    after = dict(pairwise(words))
    headers = [words[n + 1].split(": ", 1) for n, word in enumerate(words) if word == "-H"]
    address = next(word for word in words if word.startswith("http://"))
    answer = httpx.request(after["-X"], address, headers=dict(headers), content=after["-d"], trust_env=False)
    assert answer.is_success, answer.text
    found: dict[str, Any] = json.loads(answer.text)
    return found
