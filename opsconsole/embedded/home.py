"""The folder in which a running demo keeps its data, secrets, logs and process ids."""

import fcntl
import os
import secrets
import shlex
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

GUARD_SECONDS = 60.0


class HomeProblem(Exception):
    """The folder cannot be used; the message says why and what to do."""


@dataclass(frozen=True)
class Home:
    """One folder, one running quickstart. Secrets are readable by their owner only."""

    path: Path

    @classmethod
    def open(cls, path: Path) -> "Home":
        """Create what is missing. Others may pass through, as the database may run as another user, but not list it."""
        home = cls(path.absolute())
        try:
            if not home.path.exists():
                home.path.mkdir(parents=True)
                home.path.chmod(0o711)
            for private in (home.log, home.run, home.secrets):
                private.mkdir(mode=0o700, exist_ok=True)
                private.chmod(0o700)
        except PermissionError as error:
            raise HomeProblem(
                f"{home.path} cannot be written by this user ({error.strerror}). Start as the user who made it, "
                "or choose another folder with OPSCONSOLE_HOME."
            ) from error
        return home

    @property
    def log(self) -> Path:
        """One log per process, emptied at each start."""
        return self.path / "log"

    @property
    def run(self) -> Path:
        """Process ids and ready marks of this run."""
        return self.path / "run"

    @property
    def secrets(self) -> Path:
        """Generated secrets, one per file."""
        return self.path / "secrets"

    @property
    def ports(self) -> Path:
        """The ports chosen at the first start."""
        return self.path / "ports.json"

    def secret(self, name: str) -> str:
        """Return the secret kept under `name`, generating it the first time."""
        return kept_secret(self.secrets / name)

    def write_environment(self, environment: Mapping[str, str]) -> Path:
        """Keep the environment of this run as a shell file, so that other commands can be pointed at the demo."""
        target = self.run / "environment"
        lines = [f"export {name}={shlex.quote(value)}" for name, value in sorted(environment.items())]
        write_private(target, "\n".join(lines) + "\n")
        return target

    def lock(self) -> int:
        """Hold the folder for this process and return the open lock; a second holder is refused by name.

        A holder that was killed leaves the lock to its guard until its servers have stopped; that is waited for.
        """
        descriptor = os.open(self.run / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        deadline = time.monotonic() + GUARD_SECONDS
        while not _locked(descriptor):
            holder = os.pread(descriptor, 32, 0).decode().strip()
            if _runs(holder) or time.monotonic() > deadline:
                os.close(descriptor)
                raise HomeProblem(
                    f"opsconsole already runs in {self.path} (process {holder}). Stop it first, or start a second "
                    "one with another folder: OPSCONSOLE_HOME=/some/folder make run"
                )
            time.sleep(0.1)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        return descriptor


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _runs(holder: str) -> bool:
    try:
        os.kill(int(holder), 0)
    except (ValueError, ProcessLookupError):
        return False
    except PermissionError:
        return True
    return True


def kept_secret(path: Path) -> str:
    """Return the secret in this file; generate it (256 bits, URL-safe, owner only) when there is none."""
    try:
        return path.read_text().strip()
    except FileNotFoundError:
        write_private(path, secrets.token_hex(32) + "\n")
        return path.read_text().strip()


def write_private(path: Path, text: str) -> None:
    """Replace the file in one step; only the owner can ever read it."""
    fresh = path.with_name(path.name + ".new")
    fresh.unlink(missing_ok=True)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
