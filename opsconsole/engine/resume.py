"""resume: gather, decide, do one thing. Everything that rings the bell ends up here, and nothing else acts.

In this order, because `decide` asks in this order: approval and hash and policy, finished?, look up, only then call.
Called twice, late or never it changes nothing but the time: what must happen once is claimed in the database.
"""

import logging
import uuid
from typing import assert_never

from django.db import transaction

from approvals.models import ApprovalRound
from approvals.services import close_round, open_round
from operations.core.decide import AskApproval, Call, Command, Investigate, LookUp, Rest, Withdraw, decide
from operations.core.facts import Approval, Facts
from operations.core.states import State
from operations.models import Operation
from operations.models.evidence import Source
from operations.providers.connections import NotConfigured, reader_for
from operations.services import execute
from operations.services.transition import schedule
from operations.services.withdraw import NotWithdrawable, withdraw
from opsconsole.engine.gather import Gathered, gather
from opsconsole.engine.timetable import rest
from reconciliation.models import Case
from reconciliation.services.cases import open_case
from reconciliation.services.look_up import NothingToLookUp, look_up

logger = logging.getLogger(__name__)
SOON, LATER = 1.0, 60.0  # seconds

# Reasons of a refused claim, and names of guards, that a person must put right.
CASES_OF_REFUSALS = {
    "integrity": Case.Kind.INTEGRITY,
    "not_configured": Case.Kind.CONFIGURATION,
    "claim_against_evidence": Case.Kind.CONTRADICTION,
}


def resume(operation_id: str, *, worker: str) -> Command | None:
    """Do the one next thing about this operation; returns what was decided, None for an unknown id."""
    gathered = gather(operation_id)
    if gathered is None:
        return None
    command = decide(gathered.facts, gathered.now)
    match command:
        case Rest():
            _rest(gathered, command)
        case AskApproval():
            _ask_approval(gathered)
        case Withdraw():
            _withdraw(gathered, command)
        case Call():
            _call(gathered, worker)
        case LookUp():
            _look_up(gathered, worker)
        case Investigate():
            _investigate(gathered, command, worker)
        case _:
            assert_never(command)
    return command


def settled(command: Command | None) -> bool:
    """Whether there is nothing more to do about it right now."""
    return command is None or isinstance(command, Rest)


def _rest(gathered: Gathered, command: Rest) -> None:
    """Write down when to look again; nothing due may stay due, or the sweep would ring for it for ever."""
    waits_for = _awaited(gathered.facts)
    if command.until is None and not waits_for and gathered.facts.next_look_at is None:
        return
    seconds = None if command.until is None else max((command.until - gathered.now).total_seconds(), 0.0)
    _look_again(gathered, seconds, waits_for=waits_for)


def _awaited(facts: Facts) -> str:
    """The people it waits for, for lists and sentences; "" while only time has to pass."""
    if facts.case_open:
        return "operator"
    if facts.state is not State.NOT_STARTED:
        return ""
    if facts.approval is not Approval.APPROVED:
        return "approver"
    return "stop" if facts.stopped else ""


def _look_again(gathered: Gathered, seconds: float | None, *, waits_for: str = "") -> None:
    """Unless somebody rang since the facts were read: an approval that comes meanwhile must not be slept through."""
    rest(
        gathered.operation_id,
        state=gathered.facts.state,
        planned=gathered.facts.next_look_at,
        seconds=seconds,
        waits_for=waits_for,
    )


@transaction.atomic
def _ask_approval(gathered: Gathered) -> None:
    """A round that ran out unanswered still stands open; it is closed first, or no new one could be opened."""
    Operation.objects.select_for_update(of=("self",), no_key=True).get(pk=gathered.operation_id)
    stale = ApprovalRound.objects.filter(
        operation_id=gathered.operation_id, status=ApprovalRound.Status.OPEN, expires_at__lte=gathered.now
    )
    if stale.exists():
        close_round(operation_id=gathered.operation_id, status=ApprovalRound.Status.EXPIRED)
    open_round(operation_id=gathered.operation_id)


@transaction.atomic
def _withdraw(gathered: Gathered, command: Withdraw) -> None:
    try:
        withdraw(
            operation_id=gathered.operation_id,
            tenant_id=gathered.tenant_id,
            actor="engine",
            source=Source.ENGINE,
            reason=command.reason,
            words=command.why,
        )
    except NotWithdrawable:
        transaction.set_rollback(True)
        return
    expired = command.reason == "approval_expired"
    close_round(
        operation_id=gathered.operation_id,
        status=ApprovalRound.Status.EXPIRED if expired else ApprovalRound.Status.WITHDRAWN,
    )


def _call(gathered: Gathered, worker: str) -> None:
    try:
        claim = execute.claim(operation_id=gathered.operation_id, worker=worker)
    except execute.ClaimRefused as refused:
        logger.warning("%s was not claimed: %s", gathered.operation_id, refused)
        _not_claimed(gathered, refused, worker)
        return
    if claim is None:
        return
    answer = execute.call(claim)
    execute.record(claim, answer)


def _not_claimed(gathered: Gathered, refused: execute.ClaimRefused, worker: str) -> None:
    """Nothing was sent. A guard may have moved meanwhile; what a person must put right becomes a case."""
    kind = CASES_OF_REFUSALS.get(refused.reason) or CASES_OF_REFUSALS.get(str(refused))
    if kind is not None:
        _put_in_front_of_a_person(gathered, kind, str(refused), worker)
    _look_again(gathered, LATER if kind else SOON, waits_for="operator" if kind else "")


def _look_up(gathered: Gathered, worker: str) -> None:
    contract = gathered.contract
    assert contract is not None, "decide looks up only where the contract has a way"
    if gathered.facts.state is State.IN_PROGRESS and not _lose(gathered, worker):
        return
    try:
        reader = reader_for(
            name=gathered.connection_name,
            credential_reference=gathered.credential_reference,
            contract=contract,
        )
        look_up(
            operation_id=gathered.operation_id,
            reader=reader,
            contract=contract,
            asked_by=worker,
            same_place=gathered.facts.binding_intact,
        )
    except NotConfigured as error:
        _put_in_front_of_a_person(gathered, Case.Kind.CONFIGURATION, str(error), worker)
        _stay_in_doubt(gathered)
    except NothingToLookUp as nothing:
        _nothing_to_look_up(gathered, str(nothing), worker)


def _nothing_to_look_up(gathered: Gathered, why: str, worker: str) -> None:
    """Mostly it moved meanwhile. If not, the contract's ways need what nobody has, such as the object's id."""
    now = gather(gathered.operation_id)
    if now is not None and now.facts.state in (State.UNKNOWN, State.PENDING):
        _put_in_front_of_a_person(now, Case.Kind.UNKNOWN, why, worker)
        _stay_in_doubt(now)


def _stay_in_doubt(gathered: Gathered) -> None:
    """Try again later, in whatever doubt it is by now."""
    for state in (State.UNKNOWN, State.PENDING):
        schedule(operation_id=gathered.operation_id, expected=state, next_step=LATER, waits_for="operator")


def _lose(gathered: Gathered, worker: str) -> bool:
    assert isinstance(gathered.claim_token, uuid.UUID), "the database holds no state in progress without its claim"
    return execute.lose(
        operation_id=gathered.operation_id, token=gathered.claim_token, actor=worker, contract=gathered.contract
    )


@transaction.atomic
def _investigate(gathered: Gathered, command: Investigate, worker: str) -> None:
    """Open the case and say that a person is awaited. What can still be looked up stays scheduled."""
    if gathered.facts.state is State.IN_PROGRESS:
        _lose(gathered, worker)
        return
    _put_in_front_of_a_person(gathered, Case.Kind(command.kind), command.why, worker)
    keeps_looking = gathered.facts.state in (State.UNKNOWN, State.PENDING) and gathered.facts.can_look_up
    last = gathered.contract.schedule.delays[-1] if gathered.contract else LATER
    soon = command.kind in ("integrity", "configuration")
    _look_again(gathered, (0 if soon else last) if keeps_looking else None, waits_for="operator")


def _put_in_front_of_a_person(gathered: Gathered, kind: Case.Kind, why: str, worker: str) -> None:
    open_case(operation_id=gathered.operation_id, tenant_id=gathered.tenant_id, kind=kind, why=why, actor=worker)
