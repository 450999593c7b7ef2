"""What an agent's request sets in motion: the intent and the question to the approvers, in one transaction."""

from django.db import transaction

from approvals.models import ApprovalRound
from approvals.services import ask, close_round
from operations.models import Operation
from operations.models.evidence import Source
from operations.services.prepare import Prepared, Preparer, Wish, prepare
from operations.services.withdraw import NotWithdrawable, withdraw


@transaction.atomic
def take_in(*, preparer: Preparer, wish: Wish) -> Prepared:
    """Store the intent and open its approval round; what it replaces is no longer asked about."""
    prepared = prepare(preparer=preparer, wish=wish)
    if prepared.created:
        ask(
            operation_id=prepared.operation_id,
            tenant_id=preparer.tenant_id,
            payload_hash=prepared.payload_hash,
            policy_version=prepared.policy_version,
            quorum=prepared.quorum,
            seconds=prepared.approval_seconds,
        )
    if prepared.created and prepared.replaced:
        close_round(operation_id=prepared.replaced, status=ApprovalRound.Status.WITHDRAWN)
    return prepared


@transaction.atomic
def cancel(*, preparer: Preparer, operation_id: str) -> None:
    """Withdraw on the agent's word; only before the first claim. Raises `NotWithdrawable`."""
    operation = Operation.objects.select_for_update(of=("self",), no_key=True).get(
        pk=operation_id, tenant_id=preparer.tenant_id, intent__agent_id=preparer.agent_id
    )
    if operation.attempts_made:
        raise NotWithdrawable("It may already have been sent, so it cannot be cancelled.")
    withdraw(
        operation_id=operation_id,
        tenant_id=preparer.tenant_id,
        actor=f"agent {preparer.agent_name}",
        source=Source.AGENT,
        reason="cancelled_by_agent",
        words="Cancelled by the agent before anything was sent.",
    )
    close_round(operation_id=operation_id, status=ApprovalRound.Status.WITHDRAWN)
