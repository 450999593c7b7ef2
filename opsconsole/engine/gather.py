"""All that is known about one operation, in one query, as plain facts for the core."""

import json
from dataclasses import dataclass
from datetime import datetime

from django.db import connection

from operations.core.contract import Autonomy, Contract, autonomy, refusal_to_send_again
from operations.core.facts import Approval, Facts, PermitFacts
from operations.core.intent import sha256_of
from operations.core.states import State
from operations.providers.connections import NotConfigured, target_of
from operations.providers.contract_files import LoadedContract
from operations.providers.registry import NoContract, contract_for
from reconciliation.core import contradicts

QUERY = """
SELECT o.state, o.tenant_id, o.last_event, o.reason, o.attempts_made, o.claim_token, o.first_sent_at, o.lease_until,
       o.next_step_at, o.deadline_at,
       i.canonical, i.payload_hash, i.policy_version, i.action, i.contract_digest,
       c.name, c.provider, c.credential_reference, c.mode,
       (SELECT newest.action || '-v' || newest.version FROM operations_policy newest
        WHERE newest.tenant_id = o.tenant_id AND newest.action = i.action ORDER BY newest.version DESC LIMIT 1),
       p.payload_hash, p.policy_version, p.expires_at,
       r.status, r.expires_at,
       EXISTS (SELECT FROM operations_attempt a WHERE a.operation_id = o.intent_id AND a.outcome <> 'not_sent'),
       (SELECT count(*) FROM reconciliation_lookup l JOIN operations_evidence e ON e.id = l.evidence_id
        WHERE l.operation_id = o.intent_id AND l.counted AND e.attempt_number = o.attempts_made),
       (SELECT count(*) FROM operations_evidence e JOIN operations_attempt a
          ON a.operation_id = e.operation_id AND a.number = e.attempt_number
        WHERE e.operation_id = o.intent_id AND a.number = o.attempts_made AND e.source = 'look_up'
          AND e.verdict = 'absent' AND e.asked_at >= a.absence_credible_at),
       EXISTS (SELECT FROM reconciliation_case k WHERE k.operation_id = o.intent_id AND k.closed_at IS NULL),
       ARRAY(SELECT k.kind || ' ' || extract(epoch FROM greatest(k.opened_at, k.closed_at))
             FROM reconciliation_case k WHERE k.operation_id = o.intent_id)::text[],
       (SELECT array_agg(e.verdict || ' ' || extract(epoch FROM e.recorded_at)) FROM operations_evidence e
        WHERE e.operation_id = o.intent_id AND e.verdict IN ('happened', 'accepted', 'refused', 'several', 'different')
          AND e.recorded_at > o.changed_at),
       clock_timestamp()
FROM operations_operation o
JOIN operations_intent i ON i.operation_id = o.intent_id
JOIN operations_connection c ON c.id = i.connection_id
LEFT JOIN operations_permit p ON p.operation_id = o.intent_id AND p.revoked_at IS NULL
LEFT JOIN LATERAL (SELECT status, expires_at FROM approvals_approvalround r WHERE r.operation_id = o.intent_id
                   ORDER BY r.number DESC LIMIT 1) r ON true
WHERE o.intent_id = %s
"""

# Reasons that need a person although, or because, the state is clear.
FOLLOW_UPS = {
    "version_conflict": "version_conflict",
    "redirected": "configuration",
    "credential_refused": "configuration",
    "key_used_with_other_body": "integrity",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Gathered:
    """The facts, and what the engine needs to carry out a command on them."""

    operation_id: str
    tenant_id: int
    facts: Facts
    now: datetime
    contract: Contract | None
    connection_name: str
    credential_reference: str
    claim_token: object


def gather(operation_id: str) -> Gathered | None:
    """Read one operation; None when there is no such operation."""
    with connection.cursor() as cursor:
        cursor.execute(QUERY, [operation_id])
        row = cursor.fetchone()
    if row is None:
        return None
    (state, tenant_id, last_event, reason, attempts, token, first_sent_at, lease_until, next_step_at, deadline_at,
     raw, stored_hash, policy_version, action, digest, name, provider, credential, mode, in_force,
     permit_hash, permit_policy, permit_expires, round_status, round_expires,
     sent, looked, absences, case_open, cases, learned, now) = row  # fmt: skip
    document = json.loads(bytes(raw))
    loaded = _contract(provider, action)
    contract = loaded.contract if loaded else None
    refusal = refusal_to_send_again(contract, first_sent_at, now) if contract else "There is no contract any more."
    makes_object = contract is None or contract.creates_object
    facts = Facts(
        state=State(state),
        stored_hash=stored_hash,
        computed_hash=sha256_of(bytes(raw)),
        policy_version=policy_version,
        policy_in_force=in_force or "",
        binding_intact=_intact(document, name, provider, action, digest, loaded),
        autonomy=Autonomy.MANUAL if contract is None or mode == "manual" else autonomy(contract),
        can_look_up=bool(contract and contract.look_ups),
        refusal_to_send_again="" if last_event == "settled_may_retry" else refusal,
        approval=_approval(round_status, round_expires, now),
        approval_expires_at=round_expires,
        permit=None
        if permit_hash is None
        else PermitFacts(payload_hash=permit_hash, policy_version=permit_policy, expires_at=permit_expires),
        attempts=attempts,
        may_have_been_sent=sent,
        lease_until=lease_until,
        next_look_at=next_step_at,
        deadline_at=deadline_at,
        look_ups_used=looked,
        look_up_budget=contract.schedule.budget if contract else 0,
        absence_proved=bool(contract) and absences >= max(contract.absence.agreeing_reads, 1) if contract else False,
        case_open=case_open,
        says_it_is_there=state == State.NOT_STARTED
        and last_event != "settled_may_retry"
        and _contradiction(State(state), learned, [], makes_object) != "",
        follow_up=_follow_up(State(state), reason, cases, learned, makes_object),
    )
    return Gathered(
        operation_id=operation_id,
        tenant_id=tenant_id,
        facts=facts,
        now=now,
        contract=contract,
        connection_name=name,
        credential_reference=credential,
        claim_token=token,
    )


def _contract(provider: str, action: str) -> LoadedContract | None:
    try:
        return contract_for(provider, action)
    except NoContract:
        return None


def _intact(
    document: dict[str, object], name: str, provider: str, action: str, digest: str, loaded: LoadedContract | None
) -> bool:
    """Whether contract and target are still those that the approved bytes name."""
    if loaded is None or digest != loaded.digest or document.get("action") != action:
        return False
    try:
        target = target_of(name)
    except NotConfigured:
        return False
    return document.get("connection") == {
        "name": name,
        "provider": provider,
        "target": target,
        "contract": loaded.contract.cited,
        "contract_digest": loaded.digest,
    }


def _approval(status: str | None, expires_at: datetime | None, now: datetime) -> Approval:
    if status is None or expires_at is None or status == "withdrawn":
        return Approval.NONE
    if status == "open" and now >= expires_at:
        return Approval.EXPIRED
    return Approval(status)


def _follow_up(state: State, reason: str, cases: list[str], learned: list[str] | None, makes_object: bool) -> str:
    kinds = {case.split()[0] for case in cases}
    wanted = FOLLOW_UPS.get(reason, "")
    if wanted and wanted not in kinds:
        return wanted
    if state in (State.SUCCEEDED, State.FAILED, State.CANCELLED):
        return _contradiction(state, learned, cases, makes_object)
    return ""


def _contradiction(state: State, learned: list[str] | None, cases: list[str], makes_object: bool) -> str:
    """ "contradiction" when something learned since the last move says otherwise and no case was opened for it yet."""
    said = [entry.split() for entry in learned or []]
    times = [float(at) for verdict, at in said if contradicts(state, verdict, creates_object=makes_object)]
    answered = [float(case.split()[1]) for case in cases if case.split()[0] == "contradiction"]
    return "contradiction" if times and max(times) > max(answered, default=0.0) else ""
