"""Runs localstripe (GPL-3.0-or-later) as a process of its own on this machine. Nothing of it is imported here.

Its own command would listen on every interface and keep its objects in a file that all its processes share; the few
lines below give the child a loopback port, no file, and a log of each request, written before it acts.
"""

import json
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlencode

type Json = dict[str, Any]

KEY = "sk_test_localstripe"
PATIENCE = 30.0

CHILD = """
import json, socket, sys, threading
from aiohttp import web
from localstripe import resources, server

resources.Store.dump_to_disk = lambda store: None
log = open(sys.argv[1], "a", buffering=1)

@web.middleware
async def write_down(request, handler):
    text = (await request.read()).decode()
    key = request.headers.get("Idempotency-Key", "")
    print(json.dumps({"method": request.method, "path": request.path_qs, "body": text, "key": key}), file=log)
    return await handler(request)

server.app._middlewares.insert(0, write_down)
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
threading.Thread(target=lambda: (sys.stdin.read(), __import__("os")._exit(0)), daemon=True).start()
web.run_app(server.app, sock=listener, print=None, access_log=None)
"""


class Localstripe:
    """A running localstripe; ends with the `with` block, and with this process."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="localstripe-")
        self._log = Path(self._folder.name) / "requests.jsonl"
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        self.port = 0

    def __enter__(self) -> Self:
        errors = Path(self._folder.name) / "stderr.txt"
        with errors.open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-c", CHILD, str(self._log)],
                cwd=self._folder.name,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=output,
            )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, errors.read_text()
        self.port = int(line)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(PATIENCE)
        self._process.stdout.close()
        self._folder.cleanup()

    def customer(self, number: str = "4242424242424242") -> str:
        """A new customer with this card; returns its id."""
        card = {"number": number, "exp_month": "12", "exp_year": "2030", "cvc": "123"}
        token = self.send("POST", "/v1/tokens", {f"card[{name}]": value for name, value in card.items()})
        return str(self.send("POST", "/v1/customers", {"source": token["id"]})["id"])

    def charges(self, customer: str) -> list[Json]:
        """The charges of a customer, in its own ledger."""
        found = self.send("GET", f"/v1/charges?customer={customer}&limit=100")["data"]
        return [dict(charge) for charge in found]

    def requests(self, containing: str) -> list[Json]:
        """What it wrote down on arrival and that holds this text."""
        rows = [json.loads(line) for line in self._log.read_text().splitlines()]
        return [row for row in rows if containing in row["path"] or containing in row["body"]]

    def send(self, method: str, path: str, form: dict[str, str] | None = None, *, key: str = "") -> Json:
        """One request by a plain client; an answer of 4xx is returned like any other."""
        headers = {"Authorization": f"Bearer {KEY}", **({"Idempotency-Key": key} if key else {})}
        data = urlencode(form).encode() if form else None
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, headers, method=method)
        try:
            with self._opener.open(request, timeout=PATIENCE) as answer:
                return dict(json.load(answer))
        except urllib.error.HTTPError as refusal:
            with refusal:
                return dict(json.load(refusal))
