"""What quickstart starts, in which environment, and in which order."""

import http.client
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from opsconsole.embedded.home import Home
from opsconsole.embedded.ports import NoFreePort, Ports
from opsconsole.embedded.processes import Service, StartFailed, how_it_ended, log_tail
from opsconsole.embedded.signals import Waiter

CHECKOUT = Path(__file__).resolve().parent.parent.parent
MANAGE = (sys.executable, str(CHECKOUT / "manage.py"))
FIRST_WEB_PORT = 8000
PROGRESS_EVERY = 5.0
EVERYWHERE = {"0.0.0.0", "::", "localhost", "127.0.0.1"}  # noqa: S104  compared with, not bound
DEFAULT_HOST = "127.0.0.1"
# Nobody watching a demo waits out a real lease: a call of at most 5 s, a claim of 10 s.
PACE = {
    "PROVIDER_CONNECT_SECONDS": "2",
    "PROVIDER_READ_SECONDS": "4",
    "PROVIDER_TOTAL_SECONDS": "5",
    "LEASE_SECONDS": "10",
    "LEASE_MARGIN_SECONDS": "2",
}


@dataclass(frozen=True)
class Addresses:
    """Where the demo listens."""

    host: str
    web_port: int
    simulator_port: int

    @classmethod
    def choose(cls, ports: Ports, environment: Mapping[str, str]) -> "Addresses":
        """Take HOST and PORT from the environment, else the port of last time, else the first free from 8000."""
        host = environment.get("HOST") or DEFAULT_HOST
        asked = environment.get("PORT")
        if asked and not (asked.isdecimal() and 0 < int(asked) < 65536):
            raise NoFreePort(f"PORT is {asked!r}, which is no port number")
        web = ports.from_("web", int(asked or FIRST_WEB_PORT), host=host, keep=not asked)
        return cls(host, web, ports.any("simulator"))

    @property
    def reachable_host(self) -> str:
        """The host part under which this machine reaches the web server."""
        return DEFAULT_HOST if self.host in EVERYWHERE else self.host

    @property
    def web(self) -> str:
        """The address a person opens."""
        return f"http://{self.reachable_host}:{self.web_port}"

    @property
    def simulator(self) -> str:
        """The address of the simulated provider."""
        return f"http://127.0.0.1:{self.simulator_port}"


def environment(home: Home, addresses: Addresses, *, database: str, broker: str) -> dict[str, str]:
    """Return the environment of every process of the demo. What the user set for host names is kept, and so is
    their pace: these times hang together, so one that is set leaves the others to their defaults."""
    inherited = dict(os.environ)
    names = dict.fromkeys(["127.0.0.1", "localhost", addresses.host])
    pace = {} if PACE.keys() & inherited.keys() else PACE
    return {
        **inherited,
        **pace,
        "DATABASE_URL": database,
        "CELERY_BROKER_URL": broker,
        "SECRET_KEY": inherited.get("SECRET_KEY") or home.secret("secret_key"),
        "DEBUG": "false",
        "ALLOWED_HOSTS": inherited.get("ALLOWED_HOSTS") or ",".join(names),
        "PUBLIC_URL": inherited.get("PUBLIC_URL") or addresses.web,
        "OPSCONSOLE_MODE": "demo",
        "OPSCONSOLE_HOME": str(home.path),
        "OPSCONSOLE_READY_FILE": str(home.run / "worker.ready"),
        "PROVIDER_TARGETS": f"bank-main={addresses.simulator},crm-main={addresses.simulator}",
        "BANK_MAIN_TOKEN": home.secret("bank_main_token"),
        "CRM_MAIN_TOKEN": home.secret("crm_main_token"),
        "STATIC_ROOT": str(home.path / "static"),
        "PYTHONUNBUFFERED": "1",
    }


def own_variables(whole: Mapping[str, str]) -> dict[str, str]:
    """Return only what the demo added to the caller's environment."""
    return {name: value for name, value in whole.items() if os.environ.get(name) != value}


@dataclass(frozen=True)
class Application:
    """The processes of opsconsole itself, each with its log and, where others need it, its process id in a file."""

    home: Home
    addresses: Addresses
    env: Mapping[str, str]

    def services(self) -> list[Service]:
        """Describe them in the order in which they start; they stop in reverse."""
        return [self._simulator(), self._worker(), self._sweep(), self._web_server()]

    def _simulator(self) -> Service:
        data = self.home.path / "simulator"
        data.mkdir(mode=0o700, exist_ok=True)
        port = self.addresses.simulator_port
        command = ["-m", "operations.providers.simulated", "--host", "127.0.0.1", "--port", str(port)]
        command += ["--data", str(data), "--worker-pid-file", str(self.home.run / "worker.pid")]
        return self._service("simulator", command, lambda: answers("127.0.0.1", port, "/_health"), 5)

    def _worker(self) -> Service:
        ready = self.home.run / "worker.ready"
        command = ["-m", "celery", "-A", "opsconsole", "worker", "--pool", "threads", "--concurrency", "8"]
        command += ["--without-gossip", "--without-mingle", "--loglevel", "WARNING"]
        # A call under way may take its whole time-out, and its result is worth waiting for.
        service = self._service("worker", command, ready.exists, 35)
        return replace(service, pid_file=self.home.run / "worker.pid", ready_file=ready)

    def _sweep(self) -> Service:
        service = self._service("sweep", ["manage.py", "sweep"], lambda: True, 10)
        return replace(service, pid_file=self.home.run / "sweep.pid")

    def _web_server(self) -> Service:
        where = self.addresses
        command = ["-m", "gunicorn", "opsconsole.wsgi:application", "--bind", f"{where.host}:{where.web_port}"]
        command += ["--worker-class", "gthread", "--workers", "2", "--threads", "4"]
        command += ["--graceful-timeout", "5", "--no-control-socket"]
        service = self._service(
            "web server", command, lambda: answers(where.reachable_host, where.web_port, "/readyz"), 10
        )
        return replace(service, pid_file=self.home.run / "web.pid")

    def _service(self, name: str, arguments: list[str], ready: Callable[[], bool], stop_seconds: float) -> Service:
        return Service(
            name=name,
            command=[sys.executable, *arguments],
            log=self.home.log / f"{name.replace(' ', '_')}.log",
            ready=ready,
            environment=self.env,
            cwd=CHECKOUT,
            stop_seconds=stop_seconds,
        )


def answers(host: str, port: int, path: str) -> bool:
    """Say whether a GET on this path answers 200."""
    connection = http.client.HTTPConnection(host, port, timeout=5)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def run_step(
    name: str, command: tuple[str, ...], log: Path, env: Mapping[str, str], waiter: Waiter, say: Callable[[str], None]
) -> str:
    """Run one command to its end and return what it printed. Raises StartFailed with the end of its log."""
    started = time.monotonic()
    errors = log.with_suffix(".errors.log")
    with log.open("wb") as out, errors.open("wb") as err:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            env=dict(env),
            cwd=CHECKOUT,
            start_new_session=True,
        )
        try:
            _await_end(name, process, waiter, say)
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()
    if process.returncode != 0:
        tails = [log_tail(file) for file in (log, errors) if file.stat().st_size]
        raise StartFailed("\n".join([f"{name} failed ({how_it_ended(process.returncode)}).", *tails]))
    say(f"{name}: done in {time.monotonic() - started:.1f} s")
    return log.read_text()


def _await_end(name: str, process: subprocess.Popen[bytes], waiter: Waiter, say: Callable[[str], None]) -> None:
    started = spoken = time.monotonic()
    while process.poll() is None:
        waiter.wait(0.5)
        now = time.monotonic()
        if now - spoken >= PROGRESS_EVERY:
            spoken = now
            say(f"{name}: {now - started:.0f} s so far")
