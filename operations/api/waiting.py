"""Long-poll: hold the answer back until the operation changes. Between two short reads nothing is held but a thread."""

from collections.abc import Callable
from time import monotonic, sleep
from typing import Final

from operations.core.states import FINAL

POLL_SECONDS: Final = 0.25
LONGEST: Final = 25  # below what proxies cut off


def wait_for_change(operation_id: str, seconds: int, standing: Callable[[str], tuple[object, ...]]) -> None:
    """Return as soon as the standing differs from the first one read, when it is final, or when the time is over."""
    deadline = monotonic() + seconds
    first = standing(operation_id)
    if first[0] in FINAL:
        return
    while (left := deadline - monotonic()) > 0:
        sleep(min(POLL_SECONDS, left))
        if standing(operation_id) != first:
            return
