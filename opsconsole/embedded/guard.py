"""The last one out: stops every child when the process that started them is gone, even by SIGKILL.

It runs as its own process, by path and with the standard library only, and listens on a pipe from its parent:
`watch PID SIGNAL SECONDS`, `forget PID`, `remove FOLDER`, `end`. Then, or when the pipe ends, it stops what is still
watched, the youngest first, and removes the folders it was told to remove. It inherits the home's lock, so a new start
waits for it.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path


class Guard:
    """The parent's end of the pipe."""

    def __init__(self, inherit: tuple[int, ...] = ()) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
            pass_fds=inherit,
            cwd="/",
            text=True,
        )

    def watch(self, pid: int, stop_signal: int, seconds: float) -> None:
        """Stop this process if we are gone."""
        self._tell(f"watch {pid} {int(stop_signal)} {seconds}")

    def forget(self, pid: int) -> None:
        """This process has ended; its number may soon belong to another."""
        self._tell(f"forget {pid}")

    def remove(self, folder: Path) -> None:
        """Remove this folder once everything has stopped."""
        self._tell(f"remove {folder}")

    def close(self) -> None:
        """Let the guard do what is left, and wait for it."""
        # Said in words too: a forked child of ours may still hold the pipe open.
        self._tell("end")
        if self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()
        self._process.wait()

    def _tell(self, line: str) -> None:
        if self._process.stdin is None:
            return
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()


@dataclass(frozen=True)
class _Watched:
    pid: int
    stop_signal: int
    seconds: float


def _stop(watched: _Watched) -> None:
    """Ask, wait, then end the whole process group."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(watched.pid, watched.stop_signal)
        deadline = time.monotonic() + watched.seconds
        while time.monotonic() < deadline:
            os.kill(watched.pid, 0)
            # Not our child, so there is no event to wait for.
            time.sleep(0.05)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(watched.pid, signal.SIGKILL)


def main() -> None:
    """Listen until the parent is gone, then tidy up."""
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    watched: dict[int, _Watched] = {}
    folders: list[str] = []
    for line in sys.stdin:
        verb, _, rest = line.rstrip("\n").partition(" ")
        if verb == "watch":
            pid, stop_signal, seconds = rest.split()
            watched[int(pid)] = _Watched(int(pid), int(stop_signal), float(seconds))
        elif verb == "forget":
            watched.pop(int(rest), None)
        elif verb == "remove":
            folders.append(rest)
        elif verb == "end":
            break
    for item in reversed(watched.values()):
        _stop(item)
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
