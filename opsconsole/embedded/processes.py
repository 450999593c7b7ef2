"""Starts, watches and stops a handful of child processes: no more than quickstart and the tests need."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from opsconsole.embedded.account import Account, switch_to
from opsconsole.embedded.guard import Guard
from opsconsole.embedded.signals import Patience, StopRequested, Waiter

TAIL_LINES = 25
FIRST_BACK_OFF = 0.5
LONGEST_BACK_OFF = 10.0
CALM_AFTER = 30.0
HURRY_AFTER = 2.0


class StartFailed(Exception):
    """A process ended or stayed silent while it was started; the message holds the end of its log."""


@dataclass(frozen=True)
class Service:
    """One process: how to start it, how to see that it answers, how to stop it."""

    name: str
    command: Sequence[str]
    log: Path
    ready: Callable[[], bool]
    environment: Mapping[str, str]
    cwd: Path
    account: Account | None = None
    stop_signal: int = signal.SIGTERM
    stop_seconds: float = 10
    start_seconds: float = 60
    starts: int = 1
    pid_file: Path | None = None
    ready_file: Path | None = None


@dataclass
class _Child:
    service: Service
    process: subprocess.Popen[bytes]
    started_at: float
    quick_deaths: int = 0
    restart_at: float | None = None
    last_exit: int = field(default=0)


class Supervisor:
    """Owns the children it started. Whatever happens to us, the guard stops them."""

    def __init__(self, guard: Guard, say: Callable[[str], None], waiter: Waiter | None = None) -> None:
        self._guard = guard
        self._say = say
        self._waiter = waiter or Patience()
        self._children: list[_Child] = []
        self._asked_at = 0.0

    def start(self, *services: Service) -> None:
        """Start these together and wait until each answers. Raises StartFailed; what runs by then is left to `stop`."""
        for service in services:
            service.log.write_bytes(b"")
        children = [self._spawn(service) for service in services]
        self._children.extend(children)
        for child in children:
            self._await_ready(child)
        self.check()

    def check(self) -> None:
        """Raise StartFailed if any child has ended."""
        for child in self._children:
            if child.process.poll() is not None:
                raise StartFailed(_ended(child.service, child.process.returncode))

    def watch(self) -> None:
        """Restart what dies, with a growing pause, until a person or the system asks us to stop."""
        with contextlib.suppress(StopRequested):
            while True:
                self._waiter.wait(self._tend())

    def stop(self) -> None:
        """Stop all children, the youngest first, each given its time to finish; asked again later, hurry."""
        self._asked_at = time.monotonic()
        while self._children:
            self._end(self._children.pop())

    def pid(self, name: str) -> int:
        """Return the current process id of a service."""
        return next(child.process.pid for child in self._children if child.service.name == name)

    def _spawn(self, service: Service) -> _Child:
        for stale in (service.pid_file, service.ready_file):
            if stale is not None:
                stale.unlink(missing_ok=True)
        with service.log.open("ab") as log:
            process = subprocess.Popen(
                list(service.command),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=dict(service.environment),
                cwd=service.cwd,
                # Ctrl-C reaches us alone; we stop the children in order.
                start_new_session=True,
                **switch_to(service.account),
            )
        self._guard.watch(process.pid, service.stop_signal, service.stop_seconds)
        if service.pid_file is not None:
            fresh = service.pid_file.with_name(service.pid_file.name + ".new")
            fresh.write_text(f"{process.pid}\n")
            fresh.replace(service.pid_file)
        return _Child(service, process, time.monotonic())

    def _await_ready(self, child: _Child) -> None:
        service = child.service
        deadline = child.started_at + service.start_seconds
        starts = 1
        while not service.ready():
            if child.process.poll() is not None:
                self._clear(child)
                if starts >= service.starts:
                    raise StartFailed(_ended(service, child.process.returncode))
                starts += 1
                self._waiter.wait(FIRST_BACK_OFF)
                again = self._spawn(service)
                child.process, child.started_at = again.process, again.started_at
            elif time.monotonic() > deadline:
                reason = f"{service.name} did not answer within {service.start_seconds:.0f} s"
                raise StartFailed(f"{reason}.\n{log_tail(service.log)}")
            self._waiter.wait(0.05)

    def _tend(self) -> float | None:
        """Notice deaths, start again what is due, and return how long nothing else is due."""
        now = time.monotonic()
        for child in self._children:
            if child.restart_at is None and child.process.poll() is not None:
                self._clear(child)
                self._plan_restart(child, now)
            if child.restart_at is not None and child.restart_at <= now:
                self._restart(child)
        due = [child.restart_at for child in self._children if child.restart_at is not None]
        return max(0.0, min(due) - time.monotonic()) if due else None

    def _plan_restart(self, child: _Child, now: float) -> None:
        child.quick_deaths = 0 if now - child.started_at > CALM_AFTER else child.quick_deaths + 1
        pause = min(FIRST_BACK_OFF * 2 ** max(0, child.quick_deaths - 1), LONGEST_BACK_OFF)
        child.last_exit = child.process.returncode
        child.restart_at = now + pause

    def _restart(self, child: _Child) -> None:
        child.restart_at = None
        again = self._spawn(child.service)
        child.process, child.started_at = again.process, again.started_at
        hint = f"; it keeps stopping, see {child.service.log}" if child.quick_deaths >= 3 else ""
        self._say(f"{child.service.name} stopped ({how_it_ended(child.last_exit)}), started again{hint}")

    def _end(self, child: _Child) -> None:
        process = child.process
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(child.service.stop_signal)
            deadline = time.monotonic() + child.service.stop_seconds
            while process.poll() is None and time.monotonic() < deadline:
                try:
                    self._waiter.wait(0.1)
                except StopRequested:
                    # One Ctrl-C may arrive twice, through make and through the terminal: that is not impatience.
                    if time.monotonic() - self._asked_at > HURRY_AFTER:
                        deadline = 0
        self._clear(child)

    def _clear(self, child: _Child) -> None:
        """End what is left of the process group and tell the guard that this number is free again."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.process.pid, signal.SIGKILL)
        child.process.wait()
        self._guard.forget(child.process.pid)
        if child.service.pid_file is not None:
            child.service.pid_file.unlink(missing_ok=True)


def how_it_ended(exit_code: int) -> str:
    """Say in words what an exit code of subprocess means."""
    return f"signal {-exit_code}" if exit_code < 0 else f"exit code {exit_code}"


def log_tail(log: Path) -> str:
    """Return where the log is and its last lines."""
    lines = log.read_text(errors="replace").splitlines()[-TAIL_LINES:] if log.exists() else []
    return "\n".join([f"The end of {log}:", *(f"    {line}" for line in lines or ["(empty)"])])


def _ended(service: Service, exit_code: int) -> str:
    return f"{service.name} stopped while starting ({how_it_ended(exit_code)}).\n{log_tail(service.log)}"
