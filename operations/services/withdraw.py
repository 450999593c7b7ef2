"""Taking back what was never sent."""

from django.db import transaction

from operations.core.outcomes import Finding, Verdict
from operations.core.states import Event, State
from operations.models.evidence import Source
from operations.services import evidence
from operations.services.permits import revoke
from operations.services.transition import transition as move


class NotWithdrawable(Exception):
    """It is no longer waiting: it was claimed, sent or finished meanwhile."""


@transaction.atomic(savepoint=False)
def withdraw(*, operation_id: str, tenant_id: int, actor: str, source: Source, reason: str, words: str) -> None:
    """Cancel an operation from which nothing was sent; takes back its permit. Raises `NotWithdrawable`."""
    fact = evidence.record(
        operation_id=operation_id,
        tenant_id=tenant_id,
        source=source,
        finding=Finding(verdict=Verdict.WITHDRAWN, reason=reason, words=words),
    )
    moved = move(
        operation_id=operation_id,
        expected=State.NOT_STARTED,
        event=Event.WITHDRAWN,
        actor=actor,
        reason=reason,
        fact_id=fact,
        next_step=0,  # a late answer may have come since anybody looked; it must not be slept through
    )
    if not moved:
        raise NotWithdrawable("It is no longer waiting, so it cannot be withdrawn.")
    revoke(operation_id=operation_id)
