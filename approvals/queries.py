"""What approvers read: rows of lists and the decision page. Always one tenant's, never a model handed to a template."""

from collections.abc import Collection

from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now

from approvals.models import ApprovalRound
from operations.core.states import State
from operations.models import Role, User


def waiting_rounds(tenant_id: int) -> QuerySet[ApprovalRound]:
    """Rounds that still can be answered, by the database's clock."""
    return ApprovalRound.objects.filter(
        tenant_id=tenant_id,
        status=ApprovalRound.Status.OPEN,
        expires_at__gt=Now(),
        operation__state=State.NOT_STARTED,
    )


def answerable_by(rounds: QuerySet[ApprovalRound], person: User) -> QuerySet[ApprovalRound]:
    """Of these, the ones this person may answer: not yet answered by them, and not asked by their own agent."""
    mine = Q(operation__intent__agent__owner=person) & Q(operation__intent__policy__owner_may_approve=False)
    return rounds.exclude(decisions__person=person).exclude(mine)


def count_waiting_for(*, tenant_id: int, person: User, roles: Collection[Role], limit: int) -> int:
    """How many decisions wait for this person, counted up to `limit`."""
    if Role.APPROVER not in roles:
        return 0
    return answerable_by(waiting_rounds(tenant_id), person).order_by(F("expires_at"))[:limit].count()
