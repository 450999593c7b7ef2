"""What a fault means for one request, as plain values that the engine carries out."""

import enum
from dataclasses import dataclass, field

from operations.providers.simulated.api import Effect
from operations.providers.simulated.bodies import Spoil
from operations.providers.simulated.messages import Answer


class Delivery(enum.Enum):
    """How the answer reaches the wire, or does not."""

    WHOLE = "whole"
    NOTHING = "nothing"  # the connection is closed without a byte
    RESET = "reset"  # the connection is reset without a byte
    HEADERS_ONLY = "headers only"  # closed after the headers
    HALF_BODY = "half body"  # closed in the middle of the body


@dataclass(frozen=True)
class Kill:
    """Kill the caller's process; without a pid, the one in the worker's pid file."""

    before: bool
    pid: int | None


@dataclass(frozen=True)
class Plan:
    """One request's course, in the order of the fields. The default is a provider without faults."""

    kill: Kill | None = None
    wait_before: float = 0
    hold_before: bool = False
    acts: bool = True
    effect: Effect = field(default_factory=Effect)
    replace: Answer | None = None
    event_first: bool = False
    wait_after: float = 0
    hold_after: bool = False
    spoil: Spoil | None = None
    delivery: Delivery = Delivery.WHOLE
    drip: float = 0
