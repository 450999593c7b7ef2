"""What an intent is bound to, checked before anything is stored: schema, text, connection, contract, policy, limits."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from operations.actions import ACTIONS, Action
from operations.actions.money import exponent
from operations.core.contract import Contract
from operations.core.intent import MAX_INTEGER, Json
from operations.core.money import Inexpressible, provider_amount
from operations.core.render import Unrenderable, expected, write_request
from operations.core.sensitive import problem_in
from operations.providers.connections import NotConfigured, target_of
from operations.providers.contract_files import LoadedContract
from operations.providers.registry import NoContract, contract_for
from operations.services import sql

# The connection, and the policy in force beside it (none: nulls).
GROUND = """
SELECT c.id, c.provider, p.id, p.version, p.limits, p.quorum, p.approval_seconds
FROM operations_connection c
LEFT JOIN LATERAL (SELECT * FROM operations_policy p WHERE p.tenant_id = c.tenant_id AND p.action = %s
                   ORDER BY p.version DESC LIMIT 1) p ON true
WHERE c.tenant_id = %s AND c.name = %s
"""


class PrepareRefused(Exception):
    """Nothing was stored. `code` is stable, `field` a dotted path into the request."""

    def __init__(self, code: str, field: str, detail: str) -> None:
        super().__init__(detail)
        self.code, self.field, self.detail = code, field, detail


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
class Account:
    pk: int
    name: str
    provider: str


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicyInForce:
    pk: int
    cited: str
    limits: dict[str, int]
    quorum: int
    approval_seconds: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Ground:
    """Everything an intent is bound to, as it stands at this moment."""

    action: Action
    payload: dict[str, Json]
    account: Account
    target: str
    loaded: LoadedContract
    policy: PolicyInForce
    money: dict[str, Json]  # how the amount is counted, at the provider too; {} where there is none


def ground_of(preparer: Preparer, wish: Wish) -> Ground:
    """Everything the intent will name, as it stands now; raises `PrepareRefused` for the first thing that is wrong."""
    action = ACTIONS.get(wish.action)
    if action is None:
        raise PrepareRefused("unknown_action", "action", f"No such action. Known: {', '.join(sorted(ACTIONS))}.")
    if wish.action not in preparer.actions:
        raise PrepareRefused("action_not_allowed", "action", "This agent key may not prepare this action.")
    payload = _payload(action, wish.payload)
    if problem := problem_in(payload, "payload") or problem_in(wish.rationale, "rationale"):
        raise PrepareRefused("sensitive_or_unsafe_text", *problem)
    row = sql.fetch_one(GROUND, [wish.action, preparer.tenant_id, wish.connection])
    if row is None:
        raise PrepareRefused("unknown_connection", "connection", "This tenant has no connection of that name.")
    account = Account(pk=row[0], name=wish.connection, provider=row[1])
    try:
        loaded, target = contract_for(account.provider, wish.action), target_of(account.name)
    except (NoContract, NotConfigured) as error:
        raise PrepareRefused("connection_unusable", "connection", str(error)) from None
    if row[2] is None:
        raise PrepareRefused("no_policy", "action", "No policy says who may approve this action here.")
    policy = PolicyInForce(
        pk=row[2],
        cited=f"{wish.action}-v{row[3]}",
        limits=json.loads(row[4]),
        quorum=row[5],
        approval_seconds=row[6],
    )
    _check_limits(action, payload, policy)
    money = _money(action, payload, loaded.contract)
    return Ground(
        action=action, payload=payload, account=account, target=target, loaded=loaded, policy=policy, money=money
    )


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


def _money(action: Action, payload: dict[str, Json], contract: Contract) -> dict[str, Json]:
    """The amount as the provider will get it; an amount it cannot express is refused, never rounded (case P24)."""
    columns = action.columns(payload)
    digits = exponent(columns.currency) if columns.currency else None
    if columns.amount_minor is None or digits is None:
        return {}
    try:
        amount = provider_amount(columns.amount_minor, columns.currency, digits, contract.units)
    except Inexpressible as error:
        raise PrepareRefused("amount_not_expressible", "payload.amount_minor", str(error)) from None
    if amount > MAX_INTEGER:
        raise PrepareRefused("amount_not_expressible", "payload.amount_minor", "The amount is too large to be sent.")
    return {"currency": columns.currency, "exponent": digits, "provider_amount": amount}


def _check_limits(action: Action, payload: dict[str, Json], policy: PolicyInForce) -> None:
    columns = action.columns(payload)
    limit = policy.limits.get(columns.currency)
    if columns.amount_minor is not None and policy.limits and limit is None:
        raise PrepareRefused("currency_not_allowed", "payload.currency", "The policy has no limit for this currency.")
    if limit is not None and columns.amount_minor is not None and columns.amount_minor > limit:
        raise PrepareRefused("over_limit", "payload.amount_minor", f"The policy allows at most {limit} minor units.")


def check_renderable(ground: Ground, values: dict[str, Json]) -> None:
    """A request that could not be made must not reach an approver."""
    try:
        write_request(ground.loaded.contract, values)
        expected(ground.loaded.contract, values)
    except Unrenderable as error:
        raise PrepareRefused("connection_unusable", "payload", str(error)) from None
