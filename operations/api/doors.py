"""What the API needs from the floors above. They are handed in from the top; nothing here knows who they are."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from operations.api.schemas import ApprovalOut
from operations.services.prepare import Prepared, Preparer, Wish


class TakeIn(Protocol):
    """Store the intent and ask for its approval."""

    def __call__(self, *, preparer: Preparer, wish: Wish) -> Prepared: ...


class Cancel(Protocol):
    """Withdraw what was never sent."""

    def __call__(self, *, preparer: Preparer, operation_id: str) -> None: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Doors:
    """`approvals` answers for many operations at once; `standing` changes whenever state or approval changes."""

    take_in: TakeIn
    cancel: Cancel
    approvals: Callable[[Sequence[str]], dict[str, ApprovalOut]]
    standing: Callable[[str], tuple[object, ...]]
