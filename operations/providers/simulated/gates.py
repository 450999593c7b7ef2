"""Waiting: for a while, or until somebody opens the gate; and not a moment longer once the process is to stop."""

import threading


class Stopping(Exception):
    """The process is stopping; what waited must not act any more."""


class Gates:
    """Where requests wait."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._held = 0
        self._opened = 0
        self._stopped = threading.Event()

    def pause(self, seconds: float) -> None:
        """Wait that long. Raises Stopping when the process stops meanwhile."""
        if seconds and self._stopped.wait(seconds):
            raise Stopping

    def hold(self) -> None:
        """Wait for ``release``. Raises Stopping when the process stops meanwhile."""
        with self._changed:
            ticket = self._opened
            self._held += 1
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._opened > ticket or self._stopped.is_set())
            if self._stopped.is_set():
                raise Stopping

    def release(self, at_least: int = 0, wait: float = 0) -> int:
        """Let go of all who are held now, waiting up to ``wait`` seconds for ``at_least`` of them; how many went."""
        with self._changed:
            self._changed.wait_for(lambda: self._held >= at_least, timeout=wait)
            released, self._held = self._held, 0
            self._opened += 1
            self._changed.notify_all()
            return released

    def held(self, at_least: int = 0, wait: float = 0) -> int:
        """How many are held now; waits up to ``wait`` seconds for ``at_least`` of them."""
        with self._changed:
            self._changed.wait_for(lambda: self._held >= at_least, timeout=wait)
            return self._held

    def stop(self) -> None:
        """The process is stopping."""
        self._stopped.set()
        with self._changed:
            self._changed.notify_all()
