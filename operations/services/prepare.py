"""prepare: store the exact intent before any pause. Nothing is sent, and nobody is asked yet.

The same client reference with the same content is the same operation, however often and however concurrently it is
prepared; with other content it is refused. The rationale is the agent's prose and no part of the content.
"""

from dataclasses import dataclass
from typing import Any

from django.db import transaction
from ulid import ULID

from operations.core.intent import Json, Refused, canonical, idempotency_key, sha256_of
from operations.models import Operation
from operations.models.evidence import Source
from operations.services import sql
from operations.services.ground import Ground, Preparer, PrepareRefused, Wish, check_renderable, ground_of
from operations.services.withdraw import NotWithdrawable, withdraw

SCHEMA = "opsconsole.intent.v1"

KNOWN = """
SELECT operation_id, content_hash, payload_hash FROM operations_intent
WHERE tenant_id = %s AND agent_id = %s AND client_reference = %s
"""

INSERT_OPERATION = """
INSERT INTO operations_operation
    (intent_id, tenant_id, connection_id, state, last_event, last_actor, reason, waits_for, external_id, creates_object,
     attempts_made, next_step_at)
VALUES (%s, %s, %s, 'not_started', '', %s, '', 'approver', '', %s, 0, clock_timestamp() + make_interval(secs => %s))
"""

INSERT_INTENT = """
INSERT INTO operations_intent (
    operation_id, tenant_id, agent_id, connection_id, policy_id, action, canonical, payload_hash,
    policy_version, contract, contract_digest, target, data_version, client_reference, content_hash,
    idempotency_key, business_key, replaces_id, separate_effect, rationale, amount_minor, currency,
    counterparty, business_reference
) VALUES (
    %(operation_id)s, %(tenant_id)s, %(agent_id)s, %(connection_id)s, %(policy_id)s, %(action)s,
    %(canonical)s, %(payload_hash)s, %(policy_version)s, %(contract)s, %(contract_digest)s,
    %(target)s, %(data_version)s, %(client_reference)s, %(content_hash)s, %(idempotency_key)s,
    %(business_key)s, %(replaces_id)s, %(separate_effect)s, %(rationale)s, %(amount_minor)s,
    %(currency)s, %(counterparty)s, %(business_reference)s
) ON CONFLICT (tenant_id, agent_id, client_reference) DO NOTHING
"""


__all__ = ["NotReplaceable", "PrepareRefused", "Prepared", "Preparer", "ReferenceTaken", "Wish", "prepare"]


class ReferenceTaken(Exception):
    """The client reference already names an operation with other content."""

    def __init__(self, operation_id: str) -> None:
        super().__init__("This client_reference already names an operation with other content.")
        self.operation_id = operation_id


class NotReplaceable(Exception):
    """The operation to be replaced may already have been sent."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Prepared:
    """What is stored now, and what to ask the approvers. `created`: False when this very intent was already there."""

    operation_id: str
    payload_hash: str
    created: bool
    policy_version: str = ""
    quorum: int = 0
    approval_seconds: int = 0
    replaced: str = ""


def prepare(*, preparer: Preparer, wish: Wish) -> Prepared:
    """Store the intent and its operation. Raises `PrepareRefused`, `ReferenceTaken` or `NotReplaceable`."""
    content = _content_hash(wish)
    if known := _known(preparer, wish, content):
        return known
    ground = ground_of(preparer, wish)
    operation_id = f"op_{ULID()}"
    document = _document(operation_id, preparer, wish, ground)
    raw = canonical(document)
    contract = ground.loaded.contract
    key = idempotency_key(operation_id, contract.dedupe.key_form)
    check_renderable(ground, {**document, "idempotency_key": key})
    with transaction.atomic(savepoint=False):
        created = _insert(operation_id, preparer, wish, ground, raw=raw, content=content, key=key)
        if created:
            _begin(operation_id, preparer, wish, ground)
    if not created:
        again = _known(preparer, wish, content)
        assert again is not None, "the row that kept ours out is committed"
        return again
    return Prepared(
        operation_id=operation_id,
        payload_hash=sha256_of(raw),
        created=True,
        policy_version=ground.policy.cited,
        quorum=ground.policy.quorum,
        approval_seconds=ground.policy.approval_seconds,
        replaced=wish.replaces,
    )


def _content_hash(wish: Wish) -> str:
    try:
        return sha256_of(
            canonical(
                {
                    "action": wish.action,
                    "connection": wish.connection,
                    "payload": wish.payload,
                    "data_version": wish.data_version,
                    "replaces": wish.replaces,
                    "separate_effect": wish.separate_effect,
                }
            )
        )
    except Refused as refused:
        raise PrepareRefused(refused.code, refused.field, refused.detail) from None


def _known(preparer: Preparer, wish: Wish, content: str) -> Prepared | None:
    row = sql.fetch_one(KNOWN, [preparer.tenant_id, preparer.agent_id, wish.client_reference])
    if row is None:
        return None
    if row[1] != content:
        raise ReferenceTaken(row[0])
    return Prepared(operation_id=row[0], payload_hash=row[2], created=False)


def _document(operation_id: str, preparer: Preparer, wish: Wish, ground: Ground) -> dict[str, Json]:
    """Everything that affects the effect. What is not in here is not sent."""
    money: dict[str, Json] = {"money": ground.money} if ground.money else {}
    return money | {
        "schema": SCHEMA,
        "operation_id": operation_id,
        "tenant": preparer.tenant_slug,
        "action": wish.action,
        "connection": {
            "name": ground.account.name,
            "provider": ground.account.provider,
            "target": ground.target,
            "contract": ground.loaded.contract.cited,
            "contract_digest": ground.loaded.digest,
        },
        "payload": ground.payload,
        "policy_version": ground.policy.cited,
        "data_version": wish.data_version,
    }


def _insert(
    operation_id: str, preparer: Preparer, wish: Wish, ground: Ground, *, raw: bytes, content: str, key: str
) -> bool:
    """Insert the intent unless its client reference is taken; concurrent equals wait for each other here."""
    columns = ground.action.columns(ground.payload)
    row: dict[str, Any] = {
        "operation_id": operation_id,
        "tenant_id": preparer.tenant_id,
        "agent_id": preparer.agent_id,
        "connection_id": ground.account.pk,
        "policy_id": ground.policy.pk,
        "action": wish.action,
        "canonical": raw,
        "payload_hash": sha256_of(raw),
        "policy_version": ground.policy.cited,
        "contract": ground.loaded.contract.cited,
        "contract_digest": ground.loaded.digest,
        "target": ground.target,
        "data_version": wish.data_version,
        "client_reference": wish.client_reference,
        "content_hash": content,
        "idempotency_key": key,
        "business_key": ground.action.business_key(ground.payload),
        "replaces_id": wish.replaces or None,
        "separate_effect": wish.separate_effect,
        "rationale": wish.rationale,
        "amount_minor": columns.amount_minor,
        "currency": columns.currency,
        "counterparty": columns.counterparty,
        "business_reference": columns.business_reference,
    }
    return sql.execute(INSERT_INTENT, row) == 1


def _begin(operation_id: str, preparer: Preparer, wish: Wish, ground: Ground) -> None:
    """The operation that goes with the intent; due when its approval time is over, unless somebody acts before."""
    sql.execute(
        INSERT_OPERATION,
        [
            operation_id,
            preparer.tenant_id,
            ground.account.pk,
            f"agent {preparer.agent_name}",
            ground.loaded.contract.creates_object,
            ground.policy.approval_seconds,
        ],
    )
    if wish.replaces:
        _replace(operation_id, preparer, wish.replaces)


def _replace(operation_id: str, preparer: Preparer, replaced: str) -> None:
    old = (
        Operation.objects.select_for_update(of=("self",), no_key=True)
        .filter(pk=replaced, tenant_id=preparer.tenant_id, intent__agent_id=preparer.agent_id)
        .first()
    )
    if old is None:
        raise PrepareRefused("unknown_operation", "replaces", "This agent has no such operation.")
    if old.state in ("cancelled", "failed"):
        return
    if old.attempts_made:
        raise NotReplaceable("It may already have been sent, so it cannot be replaced.")
    try:
        withdraw(
            operation_id=replaced,
            tenant_id=preparer.tenant_id,
            actor=f"agent {preparer.agent_name}",
            source=Source.AGENT,
            reason="replaced",
            words=f"Replaced by {operation_id} before anything was sent.",
        )
    except NotWithdrawable:
        raise NotReplaceable("It may already have been sent, so it cannot be replaced.") from None
