"""Doubts in front of a person. One open case per operation and kind, however often its cause shows up."""

from django.db import connection, transaction

from operations.core.states import State
from operations.models import Membership, Operation, Role, User
from operations.services import journal
from reconciliation.core import NOT_AN_OPERATOR
from reconciliation.models import Case

# The operation first, as everywhere: two transactions that want both never wait for each other in a circle.
LOCK = "SELECT FROM operations_operation WHERE intent_id = %s FOR NO KEY UPDATE"

OPEN = """
INSERT INTO reconciliation_case (operation_id, tenant_id, kind, why, closed_because)
VALUES (%s, %s, %s, %s, '') ON CONFLICT DO NOTHING
"""

CLOSE = """
UPDATE reconciliation_case SET closed_at = clock_timestamp(), closed_because = %s
WHERE operation_id = %s AND closed_at IS NULL AND (%s::text[] IS NULL OR kind = ANY(%s::text[]))
"""

TAKE = """
UPDATE reconciliation_case SET claimed_by_id = %(person)s, claimed_until = clock_timestamp() + interval '30 minutes'
WHERE operation_id = %(operation)s AND closed_at IS NULL
  AND (claimed_by_id IS NULL OR claimed_by_id = %(person)s OR claimed_until <= clock_timestamp())
"""

IS_OVERDUE = "SELECT FROM operations_operation WHERE intent_id = %s AND deadline_at <= clock_timestamp()"


def doubt_of(state: State, *, overdue: bool) -> Case.Kind | None:
    """The kind of case that a doubt stands for even before one is open; None where nothing is in doubt."""
    if state is State.DISPUTED:
        return Case.Kind.DISPUTED
    return Case.Kind.UNKNOWN if state is State.UNKNOWN or (state is State.PENDING and overdue) else None


class NotTaken(Exception):
    """Somebody else has it, or there is nothing to take; the message is the sentence for the person."""


@transaction.atomic
def open_case(*, operation_id: str, tenant_id: int, kind: Case.Kind, why: str, actor: str) -> bool:
    """Put it in front of a person; False when such a case is open already."""
    with connection.cursor() as cursor:
        cursor.execute(LOCK, [operation_id])
        cursor.execute(OPEN, [operation_id, tenant_id, kind.value, why[:400]])
        if cursor.rowcount == 0:
            return False
    journal.write(
        operation_id=operation_id,
        tenant_id=tenant_id,
        actor=actor,
        verb="case_opened",
        reason=why,
        data={"kind": kind.value},
    )
    return True


def case_of(operation: Operation, *, actor: str) -> Case | None:
    """The open case, opened now where an operation in doubt has none yet. Inside the caller's transaction."""
    with connection.cursor() as cursor:
        cursor.execute(IS_OVERDUE, [operation.pk])
        overdue = cursor.rowcount > 0
    kind = doubt_of(State(operation.state), overdue=overdue)
    found = Case.objects.filter(operation=operation, closed_at__isnull=True).order_by("pk")
    if kind is not None and not found.exists():
        why = "An operator took it up before the look-ups were used up."
        open_case(operation_id=operation.pk, tenant_id=operation.tenant_id, kind=kind, why=why, actor=actor)
    return found.first()


@transaction.atomic
def take(*, operation_id: str, tenant_id: int, person: User) -> None:
    """Show the others for half an hour that this person is at it. It binds nobody. Raises `NotTaken`."""
    if not may_operate(tenant_id, person):
        raise NotTaken(NOT_AN_OPERATOR)
    operation = (
        Operation.objects.select_for_update(of=("self",), no_key=True)
        .filter(pk=operation_id, tenant_id=tenant_id)
        .first()
    )
    case = case_of(operation, actor=f"{person.name} (operator)") if operation else None
    if case is None:
        raise NotTaken("There is no open case to take.")
    with connection.cursor() as cursor:
        cursor.execute(TAKE, {"person": person.pk, "operation": operation_id})
        if cursor.rowcount == 0:
            owner = case.claimed_by
            raise NotTaken(f"{owner.name if owner else 'Somebody'} is at it.")


def may_operate(tenant_id: int, person: User) -> bool:
    """Whether this person is an operator of this tenant, read now."""
    return Membership.objects.filter(
        tenant_id=tenant_id, user=person, role=Role.OPERATOR, user__is_active=True
    ).exists()


def close_cases(*, operation_id: str, because: str, kinds: list[Case.Kind] | None = None) -> None:
    """Close open cases inside the caller's transaction, because a fact or a person answered them."""
    names = None if kinds is None else [kind.value for kind in kinds]
    with connection.cursor() as cursor:
        cursor.execute(CLOSE, [because[:400], operation_id, names, names])
