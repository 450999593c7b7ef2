"""All that is known about one operation, in one query, as plain facts for the core."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from operations.core.contract import Autonomy, Contract, autonomy, refusal_by_key, refusal_to_send_again
from operations.core.facts import Approval, Facts, PermitFacts
from operations.core.intent import sha256_of
from operations.core.states import FINAL, State
from operations.providers.connections import NotConfigured, target_of
from operations.providers.contract_files import LoadedContract
from operations.providers.registry import NoContract, contract_for
from operations.services import sql
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
       ARRAY(SELECT k.kind FROM reconciliation_case k
             WHERE k.operation_id = o.intent_id AND k.closed_at IS NULL)::text[],
       ARRAY(SELECT k.kind || ' ' || extract(epoch FROM greatest(k.opened_at, k.closed_at))
             FROM reconciliation_case k WHERE k.operation_id = o.intent_id)::text[],
       ARRAY(SELECT concat_ws(' ', CASE e.reason WHEN 'unknown_status_word' THEN 'accepted' ELSE e.verdict END,
                              extract(epoch FROM e.recorded_at), e.recorded_at > o.changed_at,
                              e.external_id NOT IN ('', o.external_id))
             FROM operations_evidence e
             WHERE e.operation_id = o.intent_id AND e.source <> 'operator'
               AND (e.verdict IN ('happened', 'accepted', 'refused', 'several', 'different')
                    OR e.reason = 'unknown_status_word')
               AND e.recorded_at > coalesce((SELECT max(word.recorded_at) FROM operations_evidence word
                   WHERE word.operation_id = o.intent_id AND word.source = 'operator'), '-infinity')),
       opsconsole_is_stopped(o.intent_id),
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


class Row(NamedTuple):
    """What QUERY answers, in its order."""

    state: str
    tenant_id: int
    last_event: str
    reason: str
    attempts: int
    token: object
    first_sent_at: datetime | None
    lease_until: datetime | None
    next_step_at: datetime | None
    deadline_at: datetime | None
    raw: bytes
    stored_hash: str
    policy_version: str
    action: str
    digest: str
    connection_name: str
    provider: str
    credential: str
    mode: str
    policy_in_force: str | None
    permit_hash: str | None
    permit_policy: str
    permit_expires: datetime
    round_status: str | None
    round_expires: datetime | None
    sent: bool
    looked: int
    absences: int
    open_cases: list[str]
    cases: list[str]
    learned: list[str]
    stopped: bool
    now: datetime


class Said(NamedTuple):
    """One piece of evidence newer than the last word of a person. `another`: about another object than ours."""

    verdict: str
    at: float
    since_the_last_move: bool
    another: bool


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
    found = sql.fetch_one(QUERY, [operation_id])
    if found is None:
        return None
    row = Row(*found)
    loaded = _contract(row.provider, row.action)
    return Gathered(
        operation_id=operation_id,
        tenant_id=row.tenant_id,
        facts=_facts(row, loaded),
        now=row.now,
        contract=loaded.contract if loaded else None,
        connection_name=row.connection_name,
        credential_reference=row.credential,
        claim_token=row.token,
    )


def _facts(row: Row, loaded: LoadedContract | None) -> Facts:
    state, contract, raw = State(row.state), loaded.contract if loaded else None, bytes(row.raw)
    said = [_said(entry) for entry in row.learned]
    return Facts(
        state=state,
        stored_hash=row.stored_hash,
        computed_hash=sha256_of(raw),
        policy_version=row.policy_version,
        policy_in_force=row.policy_in_force or "",
        binding_intact=_intact(raw, row, loaded),
        autonomy=Autonomy.MANUAL if contract is None or row.mode == "manual" else autonomy(contract),
        can_look_up=bool(contract and contract.look_ups),
        refusal_to_send_again=_refusal(row, contract),
        approval=_approval(row.round_status, row.round_expires, row.now),
        approval_expires_at=row.round_expires,
        permit=_permit(row),
        stopped=row.stopped,
        attempts=row.attempts,
        may_have_been_sent=row.sent,
        lease_until=row.lease_until,
        next_look_at=row.next_step_at,
        deadline_at=row.deadline_at,
        look_ups_used=row.looked,
        look_up_budget=contract.schedule.budget if contract else 0,
        absence_proved=contract is not None and row.absences >= max(contract.absence.agreeing_reads, 1),
        case_open=bool(row.open_cases),
        says_it_is_there=state is State.NOT_STARTED and _against(state, said, contract) > 0,
        follow_up=_follow_up(state, row.reason, row.cases, said, contract),
    )


def _contract(provider: str, action: str) -> LoadedContract | None:
    try:
        return contract_for(provider, action)
    except NoContract:
        return None


def _refusal(row: Row, contract: Contract | None) -> str:
    if contract is None:
        return "There is no contract any more."
    if "integrity" in row.open_cases:
        return "What is stored, approved and sent does not fit, and a person is looking into it."
    asks = refusal_by_key if row.last_event == "settled_may_retry" else refusal_to_send_again
    return asks(contract, row.first_sent_at, row.now)


def _permit(row: Row) -> PermitFacts | None:
    if row.permit_hash is None:
        return None
    return PermitFacts(payload_hash=row.permit_hash, policy_version=row.permit_policy, expires_at=row.permit_expires)


def _intact(raw: bytes, row: Row, loaded: LoadedContract | None) -> bool:
    """Whether contract and target are still those that the approved bytes name."""
    try:
        document = json.loads(raw)
        target = target_of(row.connection_name)
    except (ValueError, NotConfigured):
        return False
    if loaded is None or row.digest != loaded.digest or not isinstance(document, dict):
        return False
    return document.get("action") == row.action and document.get("connection") == {
        "name": row.connection_name,
        "provider": row.provider,
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


def _follow_up(state: State, reason: str, cases: Sequence[str], said: Sequence[Said], contract: Contract | None) -> str:
    """The kind of case that the reason or the evidence calls for and that nobody has opened since."""
    opened = [(kind, float(at)) for kind, _, at in (case.partition(" ") for case in cases)]
    wanted = FOLLOW_UPS.get(reason, "")
    if wanted and wanted not in {kind for kind, _ in opened}:
        return wanted
    if state not in FINAL:
        return ""
    answered = max((at for kind, at in opened if kind == "contradiction"), default=0.0)
    return "contradiction" if _against(state, said, contract) > answered else ""


def _said(entry: str) -> Said:
    verdict, at, since_the_last_move, another = entry.split()
    return Said(verdict, float(at), since_the_last_move == "t", another == "t")


def _against(state: State, said: Sequence[Said], contract: Contract | None) -> float:
    """When something was last learned that speaks against this state; 0 when nothing was.

    Answers of an earlier attempt count even if they came before the state did: a worker that had lost its claim may
    bring a second object to light while another worker's call is under way.
    """
    makes_object = contract is None or contract.creates_object

    def speaks_against(one: Said) -> bool:
        if state is State.SUCCEEDED and makes_object and one.another and one.verdict in ("happened", "accepted"):
            return True
        counts = one.since_the_last_move or state is State.NOT_STARTED or one.verdict == "happened"
        return counts and contradicts(state, one.verdict, creates_object=makes_object)

    return max((one.at for one in said if speaks_against(one)), default=0.0)
