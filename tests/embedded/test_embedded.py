"""The embedded servers and their supervisor: real processes, real kills."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from opsconsole.embedded.broker import Broker
from opsconsole.embedded.guard import Guard
from opsconsole.embedded.home import Home, HomeProblem
from opsconsole.embedded.ports import Ports, is_free
from opsconsole.embedded.postgres import Postgres
from opsconsole.embedded.processes import Service, StartFailed, Supervisor
from opsconsole.embedded.signals import Signals, StopRequested

SLEEPER = (sys.executable, "-c", "import signal; signal.pause()")


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that another user may pass through, as a checkout is; pytest closes its own at each start of a run."""
    with tempfile.TemporaryDirectory(prefix="opsconsole-tests-") as made:
        Path(made).chmod(0o711)
        yield Path(made)


@pytest.fixture
def spoken() -> list[str]:
    """What the supervisor said."""
    return []


@pytest.fixture
def supervisor(spoken: list[str]) -> Iterator[Supervisor]:
    """A supervisor that leaves nothing behind."""
    with closing(Guard()) as guard:
        made = Supervisor(guard, spoken.append)
        try:
            yield made
        finally:
            made.stop()


def alive(pid: int) -> bool:
    """Say whether a process with this number runs (one that has ended and waits to be reaped does not)."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    listed = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return not listed.stdout.strip().startswith("Z") and bool(listed.stdout.strip())


def eventually(condition: Callable[[], bool], seconds: float = 10) -> bool:
    """Poll another process's state; there is no event to wait for."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        threading.Event().wait(0.02)
    return condition()


def sleeper(folder: Path, name: str = "sleeper", command: tuple[str, ...] = SLEEPER) -> Service:
    """Describe a process that does nothing until it is stopped."""
    return Service(
        name=name,
        command=command,
        log=folder / f"{name}.log",
        ready=lambda: True,
        environment=dict(os.environ),
        cwd=folder,
        stop_seconds=5,
        pid_file=folder / f"{name}.pid",
    )


class TestPostgres:
    def test_it_keeps_its_promises_and_its_data_through_a_kill(self, folder: Path, supervisor: Supervisor) -> None:
        server = Postgres.at(folder / "postgres", port=Ports(folder / "p.json").any("postgres"), log=folder / "pg.log")
        assert server.prepare()
        supervisor.start(server.service())
        server.open_database()
        with psycopg.connect(server.url) as connection:
            shown = {
                name: connection.execute("select current_setting(%s)", [name]).fetchone()
                for name in ("fsync", "data_checksums", "timezone", "server_encoding", "max_connections")
            }
            superuser = connection.execute("select rolsuper from pg_roles where rolname = current_user").fetchone()
            connection.execute("create table kept (value text)")
            connection.execute("insert into kept values ('still here')")
        assert [value[0] for value in shown.values() if value] == ["on", "on", "UTC", "UTF8", "100"]
        assert superuser == (False,)

        os.kill(supervisor.pid("PostgreSQL"), signal.SIGKILL)
        assert eventually(lambda: not server.answers())
        assert (server.data / "postmaster.pid").exists()
        supervisor.stop()
        assert not server.prepare()
        supervisor.start(server.service())
        server.open_database()
        with psycopg.connect(server.url) as connection:
            assert connection.execute("select value from kept").fetchone() == ("still here",)

        pid = supervisor.pid("PostgreSQL")
        supervisor.stop()
        assert not alive(pid)
        assert not (server.data / "postmaster.pid").exists()

    def test_nobody_enters_without_the_generated_password(self, folder: Path, supervisor: Supervisor) -> None:
        server = Postgres.at(folder / "postgres", port=Ports(folder / "p.json").any("postgres"), log=folder / "pg.log")
        server.prepare()
        supervisor.start(server.service())
        assert server.secret.stat().st_mode & 0o777 == 0o600
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(f"postgresql://postgres:guess@127.0.0.1:{server.port}/postgres")

    def test_a_half_made_directory_is_made_again(self, folder: Path) -> None:
        server = Postgres.at(folder / "postgres", port=1, log=folder / "pg.log")
        (folder / "postgres" / "data.new").mkdir()
        (folder / "postgres" / "data.new" / "PG_VERSION").write_text("18\n")
        assert server.prepare()
        assert (server.data / "global" / "pg_control").exists()
        assert sorted(path.name for path in (folder / "postgres").iterdir()) == ["data", "password"]


class TestBroker:
    def test_it_answers_and_stops(self, folder: Path, supervisor: Supervisor) -> None:
        broker = Broker(folder / "valkey", folder / "valkey.log", Ports(folder / "p.json").any("valkey"))
        supervisor.start(broker.service())
        assert broker.answers()
        supervisor.stop()
        assert not broker.answers()


class TestPorts:
    def test_a_free_port_is_used_again_and_a_taken_one_is_not(self, folder: Path) -> None:
        file = folder / "ports.json"
        first = Ports(file).any("postgres")
        assert Ports(file).any("postgres") == first
        with socket.socket() as other:
            other.bind(("127.0.0.1", first))
            other.listen()
            assert not is_free(first)
            assert Ports(file).any("postgres") != first

    def test_the_web_port_moves_on_when_its_port_is_taken(self, folder: Path) -> None:
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            taken = other.getsockname()[1]
            chosen = Ports(folder / "ports.json").from_("web", taken, host="127.0.0.1", keep=True)
        assert chosen > taken

    def test_a_damaged_file_only_means_choosing_again(self, folder: Path) -> None:
        (folder / "ports.json").write_text("{")
        assert Ports(folder / "ports.json").any("valkey") > 0


class TestHome:
    def test_a_second_holder_is_refused_with_the_first_ones_process_id(self, folder: Path) -> None:
        home = Home.open(folder / "home")
        held = home.lock()
        try:
            with pytest.raises(HomeProblem, match=f"already runs .*process {os.getpid()}"):
                home.lock()
        finally:
            os.close(held)
        os.close(home.lock())

    def test_secrets_are_kept_and_only_the_owner_reads_them(self, folder: Path) -> None:
        home = Home.open(folder / "home")
        assert home.secret("key") == Home.open(folder / "home").secret("key")
        assert (home.secrets / "key").stat().st_mode & 0o777 == 0o600
        kept = home.write_environment({"NAME": "a 'quoted' value"})
        shell = subprocess.run(
            ["/bin/sh", "-c", f'. "{kept}"; printf %s "$NAME"'], capture_output=True, text=True, check=True
        )
        assert shell.stdout == "a 'quoted' value"


class TestSupervisor:
    def test_a_failing_start_names_the_reason_and_leaves_nothing(self, folder: Path, supervisor: Supervisor) -> None:
        supervisor.start(sleeper(folder))
        pid = supervisor.pid("sleeper")
        broken = sleeper(folder, "broken", (sys.executable, "-c", "raise SystemExit('no such setting')"))
        with pytest.raises(StartFailed, match=r"(?s)broken stopped while starting \(exit code 1\).*no such setting"):
            supervisor.start(replace(broken, ready=lambda: False))
        supervisor.stop()
        assert not alive(pid)
        assert not (folder / "sleeper.pid").exists()

    def test_what_dies_is_started_again_and_a_stop_ends_the_watch(self, folder: Path, spoken: list[str]) -> None:
        with Signals() as signals, closing(Guard()) as guard:
            supervisor = Supervisor(guard, spoken.append, signals)
            supervisor.start(sleeper(folder, "worker"))
            killed = supervisor.pid("worker")

            def kill_then_stop() -> None:
                os.kill(killed, signal.SIGKILL)
                eventually(lambda: bool(spoken))
                os.kill(os.getpid(), signal.SIGTERM)

            meanwhile = threading.Thread(target=kill_then_stop)
            meanwhile.start()
            supervisor.watch()
            meanwhile.join()
            again = supervisor.pid("worker")
            assert (folder / "worker.pid").read_text() == f"{again}\n"
            supervisor.stop()
        assert spoken == ["worker stopped (signal 9), started again"]
        assert again != killed
        assert not alive(again)

    def test_ctrl_c_during_a_start_is_a_request_to_stop(self, folder: Path) -> None:
        with Signals() as signals, closing(Guard()) as guard:
            supervisor = Supervisor(guard, print, signals)
            os.kill(os.getpid(), signal.SIGINT)
            with pytest.raises(StopRequested):
                supervisor.start(replace(sleeper(folder), ready=lambda: False))
            pid = supervisor.pid("sleeper")
            supervisor.stop()
        assert not alive(pid)

    def test_the_guard_stops_the_children_of_a_killed_parent(self, folder: Path) -> None:
        parent = subprocess.Popen([sys.executable, "-c", PARENT, str(folder)], stdout=subprocess.PIPE, text=True)
        assert parent.stdout is not None
        with parent.stdout:
            pid = int(parent.stdout.readline())
        assert alive(pid)
        parent.kill()
        parent.wait()
        assert eventually(lambda: not alive(pid))


PARENT = """
import pathlib, sys
from tests.embedded.test_embedded import Guard, Supervisor, sleeper
supervisor = Supervisor(Guard(), print)
supervisor.start(sleeper(pathlib.Path(sys.argv[1])))
print(supervisor.pid("sleeper"), flush=True)
sys.stdin.read()
import signal; signal.pause()
"""
