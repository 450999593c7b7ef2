"""The demo tenant of quickstart: one person per role, one agent key, two connections to the simulated provider."""

import hashlib
import hmac
from dataclasses import dataclass
from datetime import timedelta
from itertools import count, islice
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from operations.models import Agent, AgentKey, Connection, Intent, Membership, Policy, Role, Tenant, User

TENANT = "org-482"
PEOPLE = (
    ("Aigul Approver", Role.APPROVER),
    ("Ana Approver", Role.APPROVER),
    ("Oscar Operator", Role.OPERATOR),
    ("Audrey Auditor", Role.AUDITOR),
    ("Adam Administrator", Role.ADMINISTRATOR),
)
ACTIONS = ("payments.create", "crm.update_deal")
FIRST_INVOICE = 9182
CONNECTIONS = (("bank-main", "BANK_MAIN_TOKEN"), ("crm-main", "CRM_MAIN_TOKEN"))


@dataclass(frozen=True, kw_only=True, slots=True)
class Login:
    role: str
    email: str
    password: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Demo:
    """What a newcomer needs to begin; each wish is the body of a call that prepares a payment nobody has asked for."""

    tenant: str
    logins: list[Login]
    agent_key: str
    wishes: list[dict[str, Any]]


class NotADemo(Exception):
    """Demo people with known passwords must never appear in a production database."""


@transaction.atomic
def ensure_demo() -> Demo:
    """Create what is missing and leave the rest; a second call gives the same passwords and the same key."""
    if settings.MODE != "demo":
        raise NotADemo("Demo data is only made with OPSCONSOLE_MODE=demo.")
    tenant, _ = Tenant.objects.get_or_create(slug=TENANT, defaults={"name": "Org 482"})
    logins = [_person(tenant, name, role) for name, role in PEOPLE]
    administrator = User.objects.get(email=_email(PEOPLE[-1][0]))
    for name, variable in CONNECTIONS:
        Connection.objects.get_or_create(
            tenant=tenant,
            name=name,
            defaults={"provider": "simulated", "mode": "automatic", "credential_reference": f"env:{variable}"},
        )
    for action in ACTIONS:
        if not Policy.objects.filter(tenant=tenant, action=action).exists():
            Policy.objects.create(tenant=tenant, action=action, version=1)
    key = _agent_key(tenant, administrator)
    return Demo(tenant=tenant.name, logins=logins, agent_key=key, wishes=_wishes(tenant))


def _email(name: str) -> str:
    return f"{name.split(maxsplit=1)[0].lower()}@demo.example"


def _person(tenant: Tenant, name: str, role: Role) -> Login:
    email = _email(name)
    password = _derived(f"password of {email}")[:16]
    user = User.objects.filter(email=email).first()
    if user is None:
        user = User.objects.create_user(email, password, name=name)
    Membership.objects.get_or_create(tenant=tenant, user=user, role=role)
    return Login(role=role.label, email=email, password=password)


def _agent_key(tenant: Tenant, owner: User) -> str:
    """The same key at every start, so that what somebody pasted yesterday works today; it expires like any other."""
    agent, _ = Agent.objects.get_or_create(tenant=tenant, name="invoice-runner", defaults={"owner": owner})
    key = f"ops_live_{_derived('agent key id')[:8]}_{_derived('agent key')[:43]}"
    AgentKey.objects.update_or_create(
        prefix=key[:17],
        defaults={
            "tenant": tenant,
            "agent": agent,
            "key_hash": AgentKey.hash_of(key),
            "actions": list(ACTIONS),
            "expires_at": timezone.now() + timedelta(days=90),
        },
    )
    return key


def _wishes(tenant: Tenant) -> list[dict[str, Any]]:
    """Two payments of invoices that no agent has named yet; a named one would only show what became of it."""
    invoices = Intent.objects.filter(tenant=tenant, client_reference__startswith="invoice-")
    named = set(invoices.values_list("client_reference", flat=True))
    free = (number for number in count(FIRST_INVOICE) if f"invoice-{number}" not in named)
    return [_wish(number) for number in islice(free, 2)]


def _wish(number: int) -> dict[str, Any]:
    return {
        "client_reference": f"invoice-{number}",
        "action": "payments.create",
        "connection": "bank-main",
        "payload": {
            "amount_minor": 1250000,
            "currency": "KZT",
            "recipient": "vendor_77",
            "recipient_name": "Vendor 77 LLP",
            "invoice": f"inv_{number}",
        },
        "data_version": "crm:deal_442@19",
        "rationale": "Invoice matches the purchase order and the delivery note of 24 November.",
    }


def _derived(purpose: str) -> str:
    """Hexadecimal characters that depend on this installation's own secret, so no two demos share a password."""
    return hmac.new(settings.SECRET_KEY.encode(), purpose.encode(), hashlib.sha256).hexdigest()
