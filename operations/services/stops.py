"""Setting and lifting an emergency stop. One person is enough to stop; lifting needs two, one after the other."""

from django.db import IntegrityError, transaction

from operations.models import Stop, User
from operations.services import sql

# What was approved and held becomes due again; everything else keeps its time.
WAKE = """
UPDATE operations_operation SET next_step_at = clock_timestamp()
WHERE intent_id IN (
    SELECT o.intent_id FROM operations_operation o
    WHERE o.tenant_id = %s AND o.state = 'not_started'
      AND EXISTS (SELECT FROM operations_permit p WHERE p.operation_id = o.intent_id AND p.revoked_at IS NULL)
    ORDER BY o.intent_id FOR NO KEY UPDATE)
"""


class MayNotStop(Exception):
    """The stop was not set or lifted; the message is the sentence for the person, `field` what it is about."""

    def __init__(self, sentence: str, *, field: str = "") -> None:
        super().__init__(sentence)
        self.field = field


def set_stop(*, tenant_id: int, person: User, scope: Stop.Scope, subject: str, reason: str) -> Stop:
    """Hold everything in this scope that has not been sent, from the next claim or last look on."""
    if not reason.strip():
        raise MayNotStop("Say why; everybody here will read it.", field="reason")
    if scope is not Stop.Scope.TENANT and not subject.strip():
        raise MayNotStop("Name what is to be stopped.", field="subject")
    try:
        with transaction.atomic():
            return Stop.objects.create(
                tenant_id=tenant_id,
                scope=scope,
                subject="" if scope is Stop.Scope.TENANT else subject.strip(),
                reason=reason.strip()[:400],
                set_by=person,
            )
    except IntegrityError as error:
        raise MayNotStop(_sentence(error)) from None


def ask_to_lift(*, tenant_id: int, person: User, stop_id: int, reason: str) -> None:
    """The first of the two: say why it may be lifted. Sending stays stopped."""
    if not reason.strip():
        raise MayNotStop("Say why it may be lifted; the second person will read it.", field="reason")
    try:
        with transaction.atomic():
            stop = _live(tenant_id, stop_id)
            if stop.lift_asked_by_id is not None:
                raise MayNotStop("Somebody has already asked to lift it; a second person is needed now.")
            sql.execute(
                "UPDATE operations_stop SET lift_asked_by_id = %s, lift_asked_at = clock_timestamp(), "
                "lift_reason = %s WHERE id = %s",
                [person.pk, reason.strip()[:400], stop.pk],
            )
    except IntegrityError as error:
        raise MayNotStop(_sentence(error)) from None


def lift(*, tenant_id: int, person: User, stop_id: int) -> None:
    """The second of the two. What is still approved is sent then."""
    try:
        with transaction.atomic():
            stop = _live(tenant_id, stop_id)
            if stop.lift_asked_by_id is None:
                raise MayNotStop("Two people lift a stop: first somebody asks to lift it and says why.")
            if stop.lift_asked_by_id == person.pk:
                raise MayNotStop("You asked to lift it, so somebody else must agree.")
            sql.execute(
                "UPDATE operations_stop SET lifted_by_id = %s, lifted_at = clock_timestamp() WHERE id = %s",
                [person.pk, stop.pk],
            )
            sql.execute(WAKE, [tenant_id])
    except IntegrityError as error:
        raise MayNotStop(_sentence(error)) from None


def _live(tenant_id: int, stop_id: int) -> Stop:
    stop = (
        Stop.objects.select_for_update(no_key=True)
        .filter(tenant_id=tenant_id, pk=stop_id, lifted_at__isnull=True)
        .first()
    )
    if stop is None:
        raise MayNotStop("This stop does not hold any more.")
    return stop


def _sentence(error: IntegrityError) -> str:
    rule = sql.constraint_of(error)
    if rule == "stop_once_at_a_time":
        return "That is stopped already."
    if rule == "stop_by_right":
        return "Only approvers, operators and administrators may set or lift a stop."
    return "Somebody was quicker. Open the page again to see how it stands."
