"""The only writer of an operation's state.

Every change names the state it expects; where a worker acts, also its claim token. No row changed means that somebody
else was quicker, and the caller must not go on as if it had moved. The journal entry is written by the database in the
same statement (a trigger), so a state can never change without it.
"""

import uuid
from dataclasses import dataclass
from datetime import datetime

from operations.core.states import FINAL, Event, State, advance
from operations.services import sql

MOVE = """
UPDATE operations_operation SET
    state = %(to)s, last_event = %(event)s, last_actor = %(actor)s, reason = %(reason)s,
    fact_id = coalesce(%(fact)s, fact_id), waits_for = %(waits_for)s,
    next_step_at = clock_timestamp() + make_interval(secs => %(next_step)s),
    deadline_at = coalesce(deadline_at, clock_timestamp() + make_interval(secs => %(deadline)s)),
    external_id = CASE WHEN %(external_id)s = '' THEN external_id ELSE %(external_id)s END
WHERE intent_id = %(id)s AND state = %(from)s AND (%(token)s::uuid IS NULL OR claim_token = %(token)s)
"""

CLAIM = """
UPDATE operations_operation SET
    state = %(to)s, last_event = %(event)s, last_actor = %(worker)s, reason = '', waits_for = '',
    claim_token = %(token)s, attempts_made = attempts_made + 1,
    lease_until = clock_timestamp() + make_interval(secs => %(lease)s),
    next_step_at = clock_timestamp() + make_interval(secs => %(lease)s),
    first_sent_at = coalesce(first_sent_at, clock_timestamp())
WHERE intent_id = %(id)s AND state = %(from)s
RETURNING attempts_made, lease_until
"""

SCHEDULE = """
UPDATE operations_operation SET
    next_step_at = clock_timestamp() + make_interval(secs => %(next_step)s), waits_for = %(waits_for)s
WHERE intent_id = %(id)s AND state = %(expected)s
"""


# Whoever changes anything about an operation locks its row first: with one order for all, nobody waits in a circle.
LOCK = "SELECT FROM operations_operation WHERE intent_id = %s FOR NO KEY UPDATE"


@dataclass(frozen=True, slots=True)
class ClaimedRow:
    """What the database made of a claim."""

    number: int
    lease_until: datetime


def transition(
    *,
    operation_id: str,
    expected: State,
    event: Event,
    actor: str,
    reason: str = "",
    token: uuid.UUID | None = None,
    fact_id: int | None = None,
    external_id: str = "",
    next_step: float | None = None,
    deadline: float | None = None,
    waits_for: str = "",
) -> bool:
    """Move along the table. False: it was not in the expected state, or the claim is no longer ours.

    `next_step` and `deadline` are seconds from now by the database clock. Raises `IllegalTransition` before asking the
    database, and `IntegrityError` where a guard refuses.
    """
    to = advance(expected, event)
    touched = sql.execute(
        MOVE,
        {
            "to": to.value,
            "event": event.value,
            "actor": actor[:120],
            "reason": reason,
            "fact": fact_id,
            "waits_for": "" if to in FINAL else waits_for,
            "next_step": next_step,
            "deadline": deadline,
            "external_id": external_id,
            "id": operation_id,
            "from": expected.value,
            "token": token,
        },
    )
    return touched == 1


def claim_row(*, operation_id: str, worker: str, token: uuid.UUID, lease: float) -> ClaimedRow | None:
    """Take the claim: at most one caller gets a row. `lease` is seconds by the database clock."""
    expected, event = State.NOT_STARTED, Event.CLAIMED
    row = sql.fetch_one(
        CLAIM,
        {
            "to": advance(expected, event).value,
            "event": event.value,
            "worker": worker,
            "token": token,
            "lease": lease,
            "id": operation_id,
            "from": expected.value,
        },
    )
    return ClaimedRow(*row) if row else None


def lock(*, operation_id: str) -> None:
    """Hold the operation until the caller's transaction ends."""
    sql.execute(LOCK, [operation_id])


def schedule(*, operation_id: str, expected: State, next_step: float | None, waits_for: str = "") -> bool:
    """Say when the engine should look again, and for whom it waits; the state stays."""
    touched = sql.execute(
        SCHEDULE,
        {"id": operation_id, "expected": expected.value, "next_step": next_step, "waits_for": waits_for},
    )
    return touched == 1
