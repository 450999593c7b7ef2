"""Waiting that ends at once when a child ends or when somebody asks us to stop."""

import select
import signal
import socket
import time
from types import FrameType, TracebackType
from typing import Protocol, Self

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopRequested(Exception):
    """Ctrl-C, SIGTERM, or the terminal was closed."""


class Waiter(Protocol):
    """Something that can wait."""

    def wait(self, seconds: float | None) -> None:
        """Return after this time or earlier; without a time, at the next event."""


class Patience:
    """Waits in short steps; for callers that leave the signals to somebody else, like the tests."""

    def wait(self, seconds: float | None) -> None:
        """Return after at most a twentieth of a second."""
        time.sleep(min(seconds if seconds is not None else 0.05, 0.05))


class Signals:
    """Turns signals into events while it is entered. For the main thread only."""

    def __enter__(self) -> Self:
        self._receiver, sender = socket.socketpair()
        self._sender = sender
        for end in (self._receiver, sender):
            end.setblocking(False)
        self._previous_wakeup = signal.set_wakeup_fd(sender.fileno(), warn_on_full_buffer=False)
        # Under nohup SIGHUP is ignored on purpose.
        wanted = [
            number for number in STOPPING if signal.getsignal(number) is not signal.SIG_IGN or number != signal.SIGHUP
        ]
        self._previous = {number: signal.signal(number, _noticed) for number in (*wanted, signal.SIGCHLD)}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._previous_wakeup)
        self._receiver.close()
        self._sender.close()

    def wait(self, seconds: float | None) -> None:
        """Return when a child ended or the time is over. Raises StopRequested once for every request to stop."""
        ready, _, _ = select.select([self._receiver], [], [], seconds)
        if not ready:
            return
        arrived = self._receiver.recv(4096)
        if any(number in arrived for number in STOPPING):
            raise StopRequested


def _noticed(number: int, frame: FrameType | None) -> None:
    """The number has already been written to the socket; Python only needs a handler to do so."""
