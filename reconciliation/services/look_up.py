"""look up: read the provider, write down what it proves, move only as far as that goes.

One read, one transaction: evidence, look-up row, journal and the move, if any. Whoever comes second (a webhook, an
operator, another worker) finds the state moved and leaves evidence only. A finished operation may be looked up as
well; then nothing moves, and what contradicts the record becomes a case.
"""

import json
import uuid
from dataclasses import dataclass, replace
from datetime import datetime

from django.conf import settings
from django.db import IntegrityError, connection, transaction

from operations.core.contract import Contract, LookUpWay, refusal_to_send_again
from operations.core.intent import Json
from operations.core.outcomes import Answer, Finding, Verdict, judge_look_up
from operations.core.render import expected
from operations.core.states import FINAL, Event, State
from operations.models.evidence import Source
from operations.providers.ports import Limits, Reader
from operations.services import evidence, journal, sql
from operations.services.transition import lock, schedule
from operations.services.transition import transition as move
from reconciliation.core import (
    COUNTS_AS_AN_ANSWER,
    Asked,
    LastAttempt,
    conclude,
    contradicts,
    elsewhere,
    next_delay,
    ways_to_ask,
    weigh,
)
from reconciliation.models import Case, LookUp
from reconciliation.services.cases import close_cases, open_case

SITUATION = """
SELECT o.state, o.tenant_id, o.first_sent_at, o.claim_token, o.external_id, i.canonical, i.idempotency_key,
       clock_timestamp(), a.number, a.absence_credible_at, a.http_status, a.external_id,
       (SELECT count(*) FROM operations_evidence e WHERE e.operation_id = o.intent_id AND e.source = 'look_up'
        AND e.attempt_number IS NOT DISTINCT FROM a.number),
       (SELECT count(*) FROM operations_evidence e WHERE e.operation_id = o.intent_id AND e.source = 'look_up'
        AND e.attempt_number = a.number AND e.verdict = 'absent' AND e.asked_at >= a.absence_credible_at),
       (SELECT max(e.asked_at) FROM operations_evidence e WHERE e.operation_id = o.intent_id AND e.source = 'look_up'
        AND e.attempt_number = a.number AND e.verdict = 'absent' AND e.asked_at >= a.absence_credible_at)
FROM operations_operation o
JOIN operations_intent i ON i.operation_id = o.intent_id
LEFT JOIN LATERAL (SELECT * FROM operations_attempt a WHERE a.operation_id = o.intent_id
                   ORDER BY a.number DESC LIMIT 1) a ON true
WHERE o.intent_id = %s
"""


class NothingToLookUp(Exception):
    """Nothing of it was ever sent, a call is under way, or the contract has no way to ask."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Situation:
    """The operation as it stood when the question was asked."""

    operation_id: str
    tenant_id: int
    state: State
    first_sent_at: datetime | None
    token: uuid.UUID | None
    external_id: str
    values: dict[str, Json]
    asked_at: datetime
    attempt: LastAttempt | None
    asked: Asked


def look_up(*, operation_id: str, reader: Reader, contract: Contract, asked_by: str, same_place: bool) -> Finding:
    """Ask by the contract's ways in order until one settles something; returns the last finding.

    `same_place`: whether address and contract are those it was sent with; if not, not finding it proves nothing.
    """
    if connection.in_atomic_block:
        raise RuntimeError("A provider must not be asked inside a database transaction.")
    finding: Finding | None = None
    for way in contract.look_ups:
        situation = _situation(operation_id)
        if situation.state is State.IN_PROGRESS or situation.attempt is None:
            raise NothingToLookUp("Nothing can be found out by asking the provider now.")
        if way not in ways_to_ask(contract, situation.external_id):
            continue
        finding = _ask(situation, way, reader, contract, asked_by, same_place)
        if finding.verdict not in (Verdict.SAYS_NOTHING, Verdict.UNREADABLE):
            break
    if finding is None:
        raise NothingToLookUp("The provider offers no way to ask about this.")
    return finding


def _situation(operation_id: str) -> Situation:
    with connection.cursor() as cursor:
        cursor.execute(SITUATION, [operation_id])
        row = cursor.fetchone()
    if row is None:
        raise NothingToLookUp("There is no such operation.")
    external_id = row[4] or row[11] or ""
    values: dict[str, Json] = {**json.loads(bytes(row[5])), "idempotency_key": row[6], "external_id": external_id}
    attempt = None if row[8] is None else LastAttempt(number=row[8], absence_credible_at=row[9], http_status=row[10])
    return Situation(
        operation_id=operation_id,
        state=State(row[0]),
        tenant_id=row[1],
        first_sent_at=row[2],
        token=row[3],
        external_id=external_id,
        values=values,
        asked_at=row[7],
        attempt=attempt,
        asked=Asked(made=row[12], credible_absences=row[13], last_credible_absence_at=row[14]),
    )


def _ask(
    situation: Situation, way: LookUpWay, reader: Reader, contract: Contract, asked_by: str, same_place: bool
) -> Finding:
    answer = reader.look_up(
        way,
        situation.values,
        limits=Limits(
            connect=settings.PROVIDER_CONNECT_SECONDS,
            read=settings.PROVIDER_READ_SECONDS,
            total=settings.PROVIDER_TOTAL_SECONDS,
        ),
    )
    read = judge_look_up(contract, way, expected(contract, situation.values), answer)
    read = read if same_place else elsewhere(read)
    try:
        return _write_down(situation, way, contract, answer, read, asked_by)
    except IntegrityError as error:
        if sql.constraint_of(error) != "operation_one_object":
            raise  # nothing was written down; it is looked at again later
        foreign = Finding(
            verdict=Verdict.DIFFERENT,
            reason="object_of_another_operation",
            words="The object that was found already belongs to another operation. A person decides.",
            matches=read.matches,
        )
        return _write_down(situation, way, contract, answer, foreign, asked_by)


@transaction.atomic
def _write_down(
    before: Situation, way: LookUpWay, contract: Contract, answer: Answer, read: Finding, asked_by: str
) -> Finding:
    """Weigh the answer against the operation as it stands now, under its lock; it may have moved while we asked."""
    lock(operation_id=before.operation_id)
    situation = replace(_situation(before.operation_id), asked_at=before.asked_at)
    finding = weigh(read, contract, situation.attempt, situation.asked, situation.asked_at)
    request_id = answer.headers.get(contract.request_id_header.lower(), "") if contract.request_id_header else ""
    fact = evidence.record(
        operation_id=situation.operation_id,
        tenant_id=situation.tenant_id,
        source=Source.LOOK_UP,
        finding=finding,
        attempt_number=situation.attempt.number if situation.attempt else None,
        answer=answer,
        request_id=request_id,
        asked_at=situation.asked_at,
    )
    LookUp.objects.create(
        operation_id=situation.operation_id,
        tenant_id=situation.tenant_id,
        evidence_id=fact,
        way=way.way,
        asked_by=asked_by[:120],
        credible=finding.verdict is Verdict.ABSENT,
        counted=finding.verdict in COUNTS_AS_AN_ANSWER,
    )
    journal.write(
        operation_id=situation.operation_id,
        tenant_id=situation.tenant_id,
        actor=asked_by,
        verb="looked_up",
        reason=finding.words,
        data={"way": way.way, "verdict": finding.verdict.value, "evidence": fact},
    )
    _move(situation, contract, finding, fact, asked_by)
    return finding


def _compare(situation: Situation, contract: Contract, finding: Finding, asked_by: str) -> None:
    """What is on record stands, and before a call nothing moves; what speaks against it is put before a person."""
    if contradicts(situation.state, finding.verdict, creates_object=contract.creates_object):
        open_case(
            operation_id=situation.operation_id,
            tenant_id=situation.tenant_id,
            kind=Case.Kind.CONTRADICTION,
            why=f"What is on record stands, and the provider says otherwise. {finding.words}",
            actor=asked_by,
        )
    schedule(operation_id=situation.operation_id, expected=situation.state, next_step=0)


def _move(situation: Situation, contract: Contract, finding: Finding, fact: int, asked_by: str) -> None:
    if situation.state in FINAL or situation.state is State.NOT_STARTED:
        _compare(situation, contract, finding, asked_by)
        return
    if situation.state in (State.DISPUTED, State.IN_PROGRESS):
        return
    refusal = refusal_to_send_again(contract, situation.first_sent_at, situation.asked_at)
    event = conclude(situation.state, finding, contract, situation.asked, refusal)
    delay = next_delay(contract, finding, situation.attempt, situation.asked, situation.asked_at)
    if event is None:
        schedule(operation_id=situation.operation_id, expected=situation.state, next_step=delay)
        return
    moved = move(
        operation_id=situation.operation_id,
        expected=situation.state,
        event=event,
        actor=asked_by,
        reason=finding.reason,
        fact_id=fact,
        external_id=finding.external_id if event in (Event.FOUND, Event.FOUND_PENDING) else "",
        next_step=0 if event in (Event.CONTRADICTED, Event.PROVED_ABSENT) else delay,
    )
    if moved and event in (Event.FOUND, Event.FOUND_REFUSED, Event.PROVED_ABSENT):
        close_cases(
            operation_id=situation.operation_id,
            because=finding.words,
            kinds=[Case.Kind.UNKNOWN, Case.Kind.RESEND],
        )
