"""httpx's transport with two promises more: a call ends in time, and after its end no byte of it leaves.

httpx bounds each single read and write, so an answer that drips, or a head that never ends, could hold a call far
beyond its lease. Here every wait ends at the end of the whole call. And a closed connection is reset: otherwise the
system would go on sending what it still holds, minutes after we have begun to ask whether the request arrived.
"""

import socket
import ssl
import struct
import time
from collections.abc import Iterable
from functools import cache
from typing import Any, Final

import httpcore
import httpx

PIECE: Final = 4096  # of what is written: each piece waits anew, and never past the end of the call
IDLE_SECONDS: Final = 5.0  # a warm connection older than this is closed by us before the provider does
RESET_ON_CLOSE: Final = (socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


class Bound:
    """When the call that this thread makes is over; a monotonic instant."""

    def __init__(self) -> None:
        self.over_at = 0.0

    def left(self, timeout: float | None, late: type[Exception]) -> float:
        """Seconds that one wait may take now; raises `late` when the call is over."""
        left = self.over_at - time.monotonic()
        if left <= 0:
            raise late("The whole call took longer than it may.")
        return left if timeout is None else min(left, timeout)


class _Stream(httpcore.NetworkStream):
    def __init__(self, inner: httpcore.NetworkStream, bound: Bound) -> None:
        self._inner, self._bound = inner, bound

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max_bytes, self._bound.left(timeout, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), PIECE):
            self._inner.write(buffer[start : start + PIECE], self._bound.left(timeout, httpcore.WriteTimeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        left = self._bound.left(timeout, httpcore.ConnectTimeout)
        return _Stream(self._inner.start_tls(ssl_context, server_hostname, left), self._bound)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


class _Backend(httpcore.NetworkBackend):
    def __init__(self, bound: Bound) -> None:
        self._inner, self._bound = httpcore.SyncBackend(), bound

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        left = self._bound.left(timeout, httpcore.ConnectTimeout)
        return _Stream(self._inner.connect_tcp(host, port, left, local_address, socket_options), self._bound)


class Transport(httpx.HTTPTransport):
    """One HTTP/1.1 transport for one thread: no retries, no proxies, and every wait within `bound`."""

    def __init__(self, bound: Bound) -> None:
        context = _trust()
        super().__init__(verify=context, trust_env=False, retries=0)
        self._pool = httpcore.ConnectionPool(
            ssl_context=context,
            max_connections=10,
            keepalive_expiry=IDLE_SECONDS,
            retries=0,
            socket_options=[RESET_ON_CLOSE],
            network_backend=_Backend(bound),
        )


@cache
def _trust() -> ssl.SSLContext:
    """The system's authorities (SSL_CERT_FILE adds to them) and certifi's; read once, it takes a while."""
    return httpcore.default_ssl_context()
