"""Look up now: a person asks the provider at once. It only reads; what follows is the bell's business."""

import uuid
from dataclasses import dataclass

from operations import bell
from operations.core.contract import Contract, LookUpWay
from operations.core.intent import Json
from operations.core.outcomes import Answer, Finding, Phase
from operations.core.states import State
from operations.models import User
from operations.providers.connections import NotConfigured, reader_for
from operations.providers.ports import Limits, Reader
from operations.services import execute
from opsconsole.engine.gather import Gathered, gather
from reconciliation.core import refusal_to_look_up
from reconciliation.services.cases import may_operate
from reconciliation.services.look_up import NothingToLookUp, look_up


class MayNotLookUp(Exception):
    """The provider was not asked; the message is the sentence for the person."""


@dataclass(frozen=True, slots=True)
class NoWayThere:
    """A Reader for a connection that cannot be used. That nobody could be asked goes on record as a failed look-up."""

    why: str

    def look_up(self, way: LookUpWay, values: dict[str, Json], *, limits: Limits) -> Answer:
        """Asks nobody."""
        return Answer(phase=Phase.CONNECTING, error=self.why)


def look_up_now(*, operation_id: str, tenant_id: int, person: User) -> Finding:
    """Ask by the contract's ways; a provider that is down is a finding too. Raises `MayNotLookUp`."""
    gathered = gather(operation_id)
    if gathered is None or gathered.tenant_id != tenant_id:
        raise MayNotLookUp("There is no such operation here.")
    facts, contract, actor = gathered.facts, gathered.contract, f"{person.name} (operator)"
    refusal = refusal_to_look_up(
        state=facts.state,
        attempts=facts.attempts,
        ways=int(facts.can_look_up),
        lease_until=facts.lease_until,
        now=gathered.now,
        operator=may_operate(tenant_id, person),
    )
    if refusal or contract is None:
        raise MayNotLookUp(refusal or "There is no contract any more that says how to ask.")
    if facts.state is State.IN_PROGRESS:
        _lose(gathered, contract, actor)
    reader = _reader(gathered, contract)
    try:
        found = look_up(
            operation_id=operation_id,
            reader=reader,
            contract=contract,
            asked_by=actor,
            same_place=facts.binding_intact,
        )
    except NothingToLookUp as nothing:
        raise MayNotLookUp(str(nothing)) from None
    bell.ring(operation_id)
    return found


def _lose(gathered: Gathered, contract: Contract, actor: str) -> None:
    """The lease is over: the call is closed as lost before anybody asks. Who was quicker does not matter."""
    assert isinstance(gathered.claim_token, uuid.UUID)
    execute.lose(operation_id=gathered.operation_id, token=gathered.claim_token, actor=actor, contract=contract)


def _reader(gathered: Gathered, contract: Contract) -> Reader:
    try:
        return reader_for(
            name=gathered.connection_name, credential_reference=gathered.credential_reference, contract=contract
        )
    except NotConfigured as error:
        return NoWayThere(str(error))
