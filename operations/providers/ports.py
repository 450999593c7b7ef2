"""The two doors to a provider. A Writer submits; a Reader looks. Reconciliation is only ever handed a Reader."""

from dataclasses import dataclass
from typing import Protocol

from operations.core.contract import LookUpWay
from operations.core.intent import Json
from operations.core.outcomes import Answer
from operations.core.render import RenderedRequest


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """Seconds for one call. `begin_by` is a monotonic instant: if it has passed, nothing may be sent any more."""

    connect: float
    read: float
    total: float
    begin_by: float | None = None


class Writer(Protocol):
    """Sends one request once. No retries, no redirects."""

    def submit(self, request: RenderedRequest, *, limits: Limits) -> Answer:
        """Never raises for anything the network or the provider does; the answer says how far it got."""
        ...


class Reader(Protocol):
    """Reads. It cannot be made to write: it knows only GET."""

    def look_up(self, way: LookUpWay, values: dict[str, Json], *, limits: Limits) -> Answer:
        """One read by one way; never raises for anything the network or the provider does."""
        ...
