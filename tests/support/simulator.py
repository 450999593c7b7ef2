"""Runs the simulated provider as its own process and asks it what arrived."""

import json
import select
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote, urlencode

Json = dict[str, Any]

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_SECONDS = 20
WRITES = ("POST", "PATCH", "PUT", "DELETE")


class SimulatorError(Exception):
    """The simulator did not start, or refused an order; the text is its own."""


class Simulator:
    """The simulated provider, started by ``with`` or ``start`` on a free port of this machine.

    Counts come from the process's own log and ledger. Nothing here sleeps: what takes time is awaited on the other
    side (``wait_for_requests``, ``wait_for_objects``, ``wait_for_events``, ``release``).
    """

    def __init__(
        self, *, data: Path | None = None, keys: str | None = None, worker_pid_file: Path | None = None
    ) -> None:
        self._own_data = None if data else tempfile.TemporaryDirectory(prefix="simulator-")
        self.data = data or Path(self._own_data.name if self._own_data else "")
        self._options = ["--keys", keys] if keys else []
        self._options += ["--worker-pid-file", str(worker_pid_file)] if worker_pid_file else []
        self._process: subprocess.Popen[bytes] | None = None
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        self.url = ""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self.url.rpartition(":")[2])

    @property
    def pid(self) -> int:
        """The process id."""
        return self._running().pid

    def start(self, port: int = 0) -> None:
        """Start the process and wait for its line."""
        command = [sys.executable, "-m", "operations.providers.simulated", "--with-parent", "--port", str(port)]
        command += ["--data", str(self.data), *self._options]
        with (self.data / "stderr.txt").open("ab") as errors:
            self._process = subprocess.Popen(
                command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors
            )
        self.url = self._announced_url()

    def stop(self) -> int:
        """SIGTERM, wait, and return the exit code."""
        self._running().terminate()
        return self._gone()

    def kill(self) -> None:
        """SIGKILL and wait."""
        self._running().kill()
        self._gone()

    def restart(self) -> None:
        """Stop it if it runs, then start it on the same data and the same port. Faults are gone, settings stay."""
        if self._process:
            self.stop()
        self.start(self.port)

    def close(self) -> None:
        """Stop it if it runs and remove the data if they are ours."""
        if self._process:
            self.stop()
        if self._own_data:
            self._own_data.cleanup()

    def fault(self, name: str, **order: Any) -> Json:
        """Post a fault."""
        return self.admin("POST", "/_faults", {"fault": name, **order})

    def faults(self) -> list[Json]:
        """Posted faults with what is ``left`` of each and how often it ``fired``."""
        return list(self.admin("GET", "/_faults")["faults"])

    def settings(self, **values: Any) -> Json:
        """Change settings; all of them are returned."""
        return self.admin("POST", "/_settings", values)

    def reset(self) -> None:
        """No faults, first settings, nobody held. Objects and log stay."""
        self.admin("DELETE", "/_faults")
        self.admin("DELETE", "/_settings")
        self.admin("POST", "/_release", {})

    def requests(self, **filters: Any) -> list[Json]:
        """Logged requests; filters: method, path, reference, since (a number n), key."""
        return list(self.admin("GET", "/_requests", query=filters)["requests"])

    def wait_for_requests(self, at_least: int, **filters: Any) -> list[Json]:
        """The same, once there are that many."""
        rows = self.requests(at_least=at_least, wait=PATIENCE_SECONDS, **filters)
        return enough(rows, at_least, "requests")

    def posts(self, reference: str | None = None) -> list[Json]:
        """Logged write requests, for one reference or all."""
        rows = self.requests(**({"reference": reference} if reference else {}))
        return [row for row in rows if row["method"] in WRITES]

    def objects(self, reference: str | None = None) -> dict[str, list[Json]]:
        """Everything in the ledger, hidden or not; payments of one reference if asked."""
        query = {"reference": reference} if reference else {}
        return self.admin("GET", "/_objects", query=query)

    def payments(self, reference: str | None = None) -> list[Json]:
        """The payments in the ledger."""
        return self.objects(reference)["payments"]

    def wait_for_payments(self, at_least: int, reference: str) -> list[Json]:
        """The payments of a reference, once there are that many."""
        query = {"reference": reference, "at_least": at_least, "wait": PATIENCE_SECONDS}
        return enough(self.admin("GET", "/_objects", query=query)["payments"], at_least, "payments")

    def wait_for_events(self, at_least: int) -> list[Json]:
        """Events sent since the process started, once there are that many: {event, status of the receiver}."""
        query = {"at_least": at_least, "wait": PATIENCE_SECONDS}
        return enough(self.admin("GET", "/_events", query=query)["events"], at_least, "events")

    def send_event(self, payment: str, **order: Any) -> Json:
        """Send an event about a payment now; ``id`` repeats an event id, ``type`` overrides the type."""
        return self.admin("POST", "/_events", {"payment": payment, **order})

    def plant_payment(self, **fields: Any) -> Json:
        """Put a payment into the ledger."""
        return self.admin("POST", "/_objects/payments", fields)

    def plant_deal(self, **fields: Any) -> Json:
        """Put a deal into the ledger."""
        return self.admin("POST", "/_objects/deals", fields)

    def edit_deal(self, id: str, **changes: Any) -> Json:
        """A colleague edits a deal; its version goes up."""
        return self.admin("PATCH", f"/_objects/deals/{quote(id, safe='')}", changes)

    def edit_payment(self, id: str, **changes: Any) -> Json:
        """Change a payment by hand: ``status``, ``hidden`` or any field."""
        return self.admin("PATCH", f"/_objects/payments/{quote(id, safe='')}", changes)

    def wait_until_held(self, at_least: int = 1) -> None:
        """Returns once that many requests are held."""
        held = self.admin("GET", "/_health", query={"at_least": at_least, "wait": PATIENCE_SECONDS})["held"]
        if held < at_least:
            raise SimulatorError(f"waited for {at_least} held requests, saw {held}")

    def release(self, at_least: int = 1) -> int:
        """Let go of held requests, once that many are held; returns how many went."""
        order = {"at_least": at_least, "wait": PATIENCE_SECONDS}
        released = int(self.admin("POST", "/_release", order)["released"])
        if released < at_least:
            raise SimulatorError(f"only {released} of {at_least} requests were held")
        return released

    def admin(self, method: str, path: str, body: Json | None = None, query: Json | None = None) -> Json:
        """Use one of the switches; raises SimulatorError with its complaint."""
        url = f"{self.url}{path}" + (f"?{urlencode(query)}" if query else "")
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
        try:
            with self._opener.open(request, timeout=PATIENCE_SECONDS + 10) as answer:
                return dict(json.load(answer))
        except urllib.error.HTTPError as refusal:
            with refusal:
                raise SimulatorError(refusal.read().decode()) from None

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise SimulatorError("the simulator does not run")
        return self._process

    def _gone(self) -> int:
        process = self._running()
        code = process.wait(timeout=PATIENCE_SECONDS)
        for pipe in (process.stdin, process.stdout):
            if pipe:
                pipe.close()
        self._process = None
        return code

    def _announced_url(self) -> str:
        output = self._running().stdout
        line = ""
        if output and select.select([output], [], [], PATIENCE_SECONDS)[0]:
            line = output.readline().decode()
        _, found, url = line.strip().partition("listening on ")
        if not found:
            self.kill()
            raise SimulatorError((self.data / "stderr.txt").read_text() or "the simulator did not start")
        return url


def enough(rows: list[Json], at_least: int, what: str) -> list[Json]:
    """The rows, or an error when there are too few."""
    if len(rows) < at_least:
        raise SimulatorError(f"waited for {at_least} {what}, saw {len(rows)}")
    return rows
