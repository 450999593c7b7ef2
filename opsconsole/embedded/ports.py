"""Chooses TCP ports and keeps them, so that a second start has the same addresses and two checkouts do not collide."""

import json
import socket
from pathlib import Path

SEARCHED = 200


class NoFreePort(Exception):
    """Every port that was tried is in use."""


def is_free(port: int, host: str = "127.0.0.1") -> bool:
    """Say whether a server could listen on this port now."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


class Ports:
    """The ports of one home, kept in a small file."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._chosen = _read(file)

    def any(self, name: str) -> int:
        """Return the port kept for `name` if it is still free, else one that the system offers."""
        kept = self._chosen.get(name)
        if kept is not None and is_free(kept) and not self._taken_by_another(name, kept):
            return kept
        while True:
            with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
                probe.bind(("127.0.0.1", 0))
                offered = int(probe.getsockname()[1])
            if not self._taken_by_another(name, offered):
                return self._keep(name, offered)

    def from_(self, name: str, first: int, *, host: str, keep: bool) -> int:
        """Return the first free port from `first` upwards; with `keep`, the one used last time comes before it."""
        candidates = list(range(first, min(first + SEARCHED, 65536)))
        if keep and name in self._chosen:
            candidates.insert(0, self._chosen[name])
        for port in candidates:
            if is_free(port, host) and not self._taken_by_another(name, port):
                return self._keep(name, port)
        raise NoFreePort(f"no free port from {first} to {candidates[-1]} on {host}")

    def _taken_by_another(self, name: str, port: int) -> bool:
        return any(kept == port for other, kept in self._chosen.items() if other != name)

    def _keep(self, name: str, port: int) -> int:
        self._chosen[name] = port
        fresh = self._file.with_name(self._file.name + ".new")
        fresh.write_text(json.dumps(self._chosen, indent=2, sort_keys=True) + "\n")
        fresh.replace(self._file)
        return port


def _read(file: Path) -> dict[str, int]:
    """Read the kept ports; a missing or damaged file only means that they are chosen again."""
    try:
        kept = json.loads(file.read_text())
    except (FileNotFoundError, ValueError):
        return {}
    if not isinstance(kept, dict):
        return {}
    return {str(name): port for name, port in kept.items() if isinstance(port, int) and 0 < port < 65536}
