"""`manage.py quickstart`: everything on this machine, from an empty folder to a printed address."""

import json
import os
import shlex
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from opsconsole.embedded import launch
from opsconsole.embedded.account import OUTSIDE
from opsconsole.embedded.broker import Broker, BrokerProblem
from opsconsole.embedded.guard import Guard
from opsconsole.embedded.home import Home, HomeProblem
from opsconsole.embedded.ports import NoFreePort, Ports
from opsconsole.embedded.postgres import Postgres, PostgresProblem
from opsconsole.embedded.processes import StartFailed, Supervisor
from opsconsole.embedded.signals import Signals, StopRequested

BAD_DAY: tuple[dict[str, Any], ...] = (
    {"fault": "kill_caller", "when": "after_acting"},
    {"fault": "error_without_effect", "method": "GET", "status": 503, "times": 3},
)
PROBLEMS = (HomeProblem, NoFreePort, PostgresProblem, BrokerProblem, StartFailed)


class Command(BaseCommand):
    """Starts servers and demo, waits until all answer, prints how to use them, and stops everything at the end."""

    help = "Start everything on this machine with demo data: servers, worker, sweep, simulated provider, web server."
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        """Run until Ctrl-C or SIGTERM, then exit 0. A start that fails stops everything and exits 1 with the reason."""
        try:
            home = Home.open(Path(os.environ.get("OPSCONSOLE_HOME") or launch.CHECKOUT / ".opsconsole"))
            lock = home.lock()
        except HomeProblem as problem:
            raise CommandError(str(problem)) from problem
        failure: Exception | None = None
        with Signals() as signals, closing(Guard(inherit=(lock,))) as guard:
            supervisor = Supervisor(guard, self._say, signals)
            try:
                self._start(home, supervisor, signals)
                supervisor.watch()
            except StopRequested:
                pass
            except PROBLEMS as problem:
                failure = problem
            finally:
                self._say("Stopping.")
                supervisor.stop()
        if failure is not None:
            raise CommandError(f"{failure}\nEverything that had been started is stopped.") from failure
        self._say("Everything is stopped. The data stays; the next start uses it again.")

    def _start(self, home: Home, supervisor: Supervisor, signals: Signals) -> None:
        started = time.monotonic()
        ports = Ports(home.ports)
        addresses = launch.Addresses.choose(ports, os.environ)
        database = self._database(home, ports, supervisor)
        broker = self._broker(home, ports, supervisor)
        env = launch.environment(home, addresses, database=database, broker=broker)
        kept = home.write_environment(launch.own_variables(env))

        def manage(title: str, *command: str) -> str:
            log = home.log / f"{command[0]}.log"
            return launch.run_step(title, (*launch.MANAGE, *command), log, env, signals, self._say)

        manage("Database tables", "migrate", "--noinput")
        manage("Styles and scripts", "collectstatic", "--noinput")
        demo = _last_json(manage("Demo data", "demo_data", "--json"))
        began = time.monotonic()
        supervisor.start(*launch.Application(home, addresses, env).services())
        self._say(f"Simulator, worker, sweep and web server: all answer after {time.monotonic() - began:.1f} s")
        self._explain(addresses, demo, kept, home, time.monotonic() - started)

    def _database(self, home: Home, ports: Ports, supervisor: Supervisor) -> str:
        own = os.environ.get("DATABASE_URL")
        if own:
            self._say("PostgreSQL: yours, from DATABASE_URL")
            return own
        began = time.monotonic()
        server = Postgres.at(home.path / "postgres", port=ports.any("postgres"), log=home.log / "postgres.log")
        if server.account is not None:
            self._say(f"PostgreSQL refuses to run as root, so it runs as the user {server.account.name}")
        if server.data.is_relative_to(OUTSIDE):
            self._say(f"That user cannot enter {home.path}, so the data is in {server.data}")
        made = server.prepare()
        supervisor.start(server.service())
        server.open_database()
        what = "created and started" if made else "started with the data of last time"
        self._say(f"PostgreSQL: {what} in {time.monotonic() - began:.1f} s on 127.0.0.1:{server.port}")
        return server.url

    def _broker(self, home: Home, ports: Ports, supervisor: Supervisor) -> str:
        own = os.environ.get("CELERY_BROKER_URL")
        if own:
            self._say("Broker: yours, from CELERY_BROKER_URL")
            return own
        began = time.monotonic()
        server = Broker(home.path / "valkey", home.log / "valkey.log", ports.any("valkey"))
        supervisor.start(server.service())
        self._say(f"Valkey: started in {time.monotonic() - began:.1f} s on 127.0.0.1:{server.port}")
        return server.url

    def _explain(
        self, addresses: launch.Addresses, demo: dict[str, Any], environment: Path, home: Home, seconds: float
    ) -> None:
        width = max((len(login["email"]) for login in demo["logins"]), default=0)
        people = [f"  {login['role']:<14} {login['email']:<{width}}  {login['password']}" for login in demo["logins"]]
        prepare, another = (_prepare(addresses, demo["agent_key"], wish) for wish in demo["wishes"])
        lines = [
            "",
            f"opsconsole is ready after {seconds:.0f} s:  {addresses.web}",
            "",
            f"Sign in as one of these people of {demo['tenant']} (role, e-mail, password):",
            *people,
            "",
            "1. Let an agent prepare a payment, then approve it in the browser:",
            prepare,
            "",
            "2. The bad day. The bank kills the worker right after it has paid, then fails three look-ups. Paste all",
            "three, approve, and watch Investigations as the operator:",
            *(_fault(addresses, fault) for fault in BAD_DAY),
            another,
            "",
            f"What arrived at the bank: {addresses.simulator}/_requests?method=POST",
            f"Logs: {home.log}   Other commands on this demo: . {shlex.quote(str(environment))}",
            "Ctrl-C stops everything.",
        ]
        self._say("\n".join(lines))

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()


def _prepare(addresses: launch.Addresses, key: str, wish: dict[str, Any]) -> str:
    """What an agent would send, for a person to paste."""
    headers = ("-H", f"Authorization: Bearer {key}", "-H", "Content-Type: application/json")
    return _curl(f"{addresses.web}/api/v1/operations", *headers, "-d", _compact(wish))


def _fault(addresses: launch.Addresses, fault: dict[str, Any]) -> str:
    return _curl(f"{addresses.simulator}/_faults", "-d", _compact(fault))


def _curl(url: str, *arguments: str) -> str:
    return shlex.join(["curl", "-sS", "-w", r"\n", "-X", "POST", url, *arguments])


def _compact(value: dict[str, Any]) -> str:
    return json.dumps(value, separators=(",", ":"))


def _last_json(printed: str) -> dict[str, Any]:
    lines = printed.strip().splitlines()
    found = json.loads(lines[-1]) if lines else None
    if not isinstance(found, dict):
        raise StartFailed("demo_data printed no JSON object as its last line")
    return found
