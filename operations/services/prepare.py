"""prepare: store the exact intent before any pause. Nothing is sent, and nobody is asked yet.

The same client reference with the same content is the same operation, however often and however concurrently it is
prepared; with other content it is refused. The rationale is the agent's prose and no part of the content.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction
from pydantic import ValidationError
from ulid import ULID

from operations.actions import ACTIONS, Action
from operations.core.contract import autonomy
from operations.core.intent import Json, Refused, canonical, idempotency_key, sha256_of
from operations.core.render import Unrenderable, expected, write_request
from operations.core.sensitive import problem_in
from operations.models import Connection, Intent, Policy
from operations.models.evidence import Source
from operations.providers.connections import NotConfigured, target_of
from operations.providers.contract_files import LoadedContract
from operations.providers.registry import NoContract, contract_for
from operations.services import journal
from operations.services.withdraw import NotWithdrawable, withdraw

SCHEMA = "opsconsole.intent.v1"

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


class PrepareRefused(Exception):
    """Nothing was stored. `code` is stable, `field` a dotted path into the request."""

    def __init__(self, code: str, field: str, detail: str) -> None:
        super().__init__(detail)
        self.code, self.field, self.detail = code, field, detail


class ReferenceTaken(Exception):
    """The client reference already names an operation with other content."""

    def __init__(self, operation_id: str) -> None:
        super().__init__("This client_reference already names an operation with other content.")
        self.operation_id = operation_id


class NotReplaceable(Exception):
    """The operation to be replaced may already have been sent."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Preparer:
    """The authenticated agent on whose behalf an intent is stored."""

    tenant_id: int
    tenant_slug: str
    agent_id: int
    agent_name: str
    actions: frozenset[str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Wish:
    """A parsed request to prepare; still unvalidated beyond its outer form."""

    client_reference: str
    action: str
    connection: str
    payload: dict[str, Json]
    data_version: str = ""
    rationale: str = ""
    replaces: str = ""
    separate_effect: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Prepared:
    """What is stored now. `created` is False when this very intent was already there."""

    operation_id: str
    created: bool
    replaced: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Ground:
    """Everything an intent is bound to, as it stands at this moment."""

    action: Action
    payload: dict[str, Json]
    connection: Connection
    target: str
    loaded: LoadedContract
    policy: Policy


def prepare(*, preparer: Preparer, wish: Wish) -> Prepared:
    """Store the intent and its operation. Raises `PrepareRefused`, `ReferenceTaken` or `NotReplaceable`."""
    content = _content_hash(wish)
    if known := _known(preparer, wish, content):
        return known
    ground = _ground(preparer, wish)
    operation_id = f"op_{ULID()}"
    document = _document(operation_id, preparer, wish, ground)
    raw = canonical(document)
    contract = ground.loaded.contract
    key = idempotency_key(operation_id, contract.dedupe.key_form)
    _check_renderable(ground, {**document, "idempotency_key": key})
    with transaction.atomic():
        created = _insert(operation_id, preparer, wish, ground, raw=raw, content=content, key=key)
        if created:
            _begin(operation_id, preparer, wish, ground)
    if not created:
        again = _known(preparer, wish, content)
        assert again is not None, "the row that kept ours out is committed"
        return again
    return Prepared(operation_id=operation_id, created=True, replaced=wish.replaces)


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
    row = (
        Intent.objects.filter(
            tenant_id=preparer.tenant_id, agent_id=preparer.agent_id, client_reference=wish.client_reference
        )
        .values_list("operation_id", "content_hash")
        .first()
    )
    if row is None:
        return None
    if row[1] != content:
        raise ReferenceTaken(row[0])
    return Prepared(operation_id=row[0], created=False)


def _ground(preparer: Preparer, wish: Wish) -> _Ground:
    action = ACTIONS.get(wish.action)
    if action is None:
        raise PrepareRefused("unknown_action", "action", f"No such action. Known: {', '.join(sorted(ACTIONS))}.")
    if wish.action not in preparer.actions:
        raise PrepareRefused("action_not_allowed", "action", "This agent key may not prepare this action.")
    payload = _payload(action, wish.payload)
    if problem := problem_in(payload, "payload") or problem_in(wish.rationale, "rationale"):
        raise PrepareRefused("sensitive_or_unsafe_text", *problem)
    conn = Connection.objects.filter(tenant_id=preparer.tenant_id, name=wish.connection).first()
    if conn is None:
        raise PrepareRefused("unknown_connection", "connection", "This tenant has no connection of that name.")
    try:
        loaded, target = contract_for(conn.provider, wish.action), target_of(conn.name)
    except (NoContract, NotConfigured) as error:
        raise PrepareRefused("connection_unusable", "connection", str(error)) from None
    policy = Policy.objects.filter(tenant_id=preparer.tenant_id, action=wish.action).order_by("-version").first()
    if policy is None:
        raise PrepareRefused(
            "no_policy", "action", "This tenant has no policy for this action, so nobody may approve it."
        )
    _check_limits(action, payload, policy)
    return _Ground(action=action, payload=payload, connection=conn, target=target, loaded=loaded, policy=policy)


def _payload(action: Action, raw: Mapping[str, Json]) -> dict[str, Json]:
    try:
        checked = action.payload.model_validate(raw)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        field = ".".join(("payload", *(str(step) for step in first["loc"])))
        raise PrepareRefused("invalid_payload", field, first["msg"]) from None
    payload: dict[str, Any] = checked.model_dump(exclude_unset=True, exclude_none=True)
    if problem := action.problem(payload):
        raise PrepareRefused("invalid_payload", f"payload.{problem[0]}", problem[1])
    return payload


def _check_limits(action: Action, payload: dict[str, Json], policy: Policy) -> None:
    columns = action.columns(payload)
    limit = policy.limits.get(columns.currency)
    if columns.amount_minor is not None and policy.limits and limit is None:
        raise PrepareRefused("currency_not_allowed", "payload.currency", "The policy has no limit for this currency.")
    if limit is not None and columns.amount_minor is not None and columns.amount_minor > limit:
        raise PrepareRefused("over_limit", "payload.amount_minor", f"The policy allows at most {limit} minor units.")


def _document(operation_id: str, preparer: Preparer, wish: Wish, ground: _Ground) -> dict[str, Json]:
    """Everything that affects the effect. What is not in here is not sent."""
    return {
        "schema": SCHEMA,
        "operation_id": operation_id,
        "tenant": preparer.tenant_slug,
        "action": wish.action,
        "connection": {
            "name": ground.connection.name,
            "provider": ground.connection.provider,
            "target": ground.target,
            "contract": ground.loaded.contract.cited,
            "contract_digest": ground.loaded.digest,
        },
        "payload": ground.payload,
        "policy_version": ground.policy.cited,
        "data_version": wish.data_version,
    }


def _check_renderable(ground: _Ground, values: dict[str, Json]) -> None:
    """A request that could not be made must not reach an approver."""
    try:
        write_request(ground.loaded.contract, values)
        expected(ground.loaded.contract, values)
    except Unrenderable as error:
        raise PrepareRefused("connection_unusable", "payload", str(error)) from None


def _insert(
    operation_id: str, preparer: Preparer, wish: Wish, ground: _Ground, *, raw: bytes, content: str, key: str
) -> bool:
    """Insert the intent unless its client reference is taken; concurrent equals wait for each other here."""
    columns = ground.action.columns(ground.payload)
    row: dict[str, Any] = {
        "operation_id": operation_id,
        "tenant_id": preparer.tenant_id,
        "agent_id": preparer.agent_id,
        "connection_id": ground.connection.pk,
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
    with connection.cursor() as cursor:
        cursor.execute(INSERT_INTENT, row)
        inserted: bool = cursor.rowcount == 1
    return inserted


def _begin(operation_id: str, preparer: Preparer, wish: Wish, ground: _Ground) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO operations_operation (intent_id, tenant_id, connection_id, state, last_event, last_actor, "
            "reason, waits_for, external_id, creates_object, attempts_made, next_step_at) "
            "VALUES (%s, %s, %s, 'not_started', '', %s, '', 'approver', '', %s, 0, clock_timestamp())",
            [
                operation_id,
                preparer.tenant_id,
                ground.connection.pk,
                f"agent {preparer.agent_name}",
                ground.loaded.contract.creates_object,
            ],
        )
    journal.write(
        operation_id=operation_id,
        tenant_id=preparer.tenant_id,
        actor=f"agent {preparer.agent_name}",
        verb="prepared",
        reason="" if autonomy(ground.loaded.contract).value == "automatic" else "only a person may carry it out",
        data={"client_reference": wish.client_reference, "replaces": wish.replaces},
    )
    if wish.replaces:
        _replace(operation_id, preparer, wish.replaces)


def _replace(operation_id: str, preparer: Preparer, replaced: str) -> None:
    old = Intent.objects.filter(
        operation_id=replaced, tenant_id=preparer.tenant_id, agent_id=preparer.agent_id
    ).values_list("operation__state", flat=True)
    state = old.first()
    if state is None:
        raise PrepareRefused("unknown_operation", "replaces", "This agent has no such operation.")
    if state in ("cancelled", "failed"):
        return
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
