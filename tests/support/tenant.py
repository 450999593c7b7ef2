"""A tenant of its own for each test: people, an agent, connections and policies, through the product's own models."""

import itertools
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.utils import timezone

from approvals.models import Decision
from approvals.services import Answered, decide
from operations.core.intent import Json
from operations.display import display_of
from operations.models import Agent, AgentKey, Connection, Intent, Membership, Operation, Policy, Role, Tenant, User
from operations.services.prepare import Prepared, Preparer, Wish
from opsconsole.engine.drain import drain
from opsconsole.engine.intake import take_in

_numbers = itertools.count(1)
KEY = "ops_test_00000001_" + "k" * 43


@dataclass
class World:
    """One tenant and everybody in it. Alice and Ana approve, Oscar operates, Audrey audits, Otto owns the agent."""

    tenant: Tenant
    alice: User
    ana: User
    oscar: User
    olga: User
    audrey: User
    otto: User
    admin: User
    agent: Agent
    key: str
    references: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))

    @property
    def preparer(self) -> Preparer:
        return Preparer(
            tenant_id=self.tenant.pk,
            tenant_slug=self.tenant.slug,
            agent_id=self.agent.pk,
            agent_name=self.agent.name,
            actions=frozenset({"payments.create", "crm.update_deal"}),
        )

    def wish(self, **changes: Any) -> Wish:
        """A payment of KZT 12 500.00, changed as asked."""
        payload: dict[str, Json] = {
            "amount_minor": 1250000,
            "currency": "KZT",
            "recipient": "vendor_77",
            "recipient_name": "Vendor 77 LLP",
            **changes.pop("payload", {}),
        }
        return Wish(
            client_reference=changes.pop("client_reference", f"ref-{next(self.references)}"),
            action="payments.create",
            connection="bank-main",
            payload=payload,
            **changes,
        )

    def deal(self, *, version: int = 19, **changes: Any) -> Wish:
        """Move deal_442 to the stage `contract`."""
        payload: dict[str, Json] = {"deal_id": "deal_442", "expected_version": version, "stage": "contract", **changes}
        return Wish(
            client_reference=f"ref-{next(self.references)}",
            action="crm.update_deal",
            connection="crm-main",
            payload=payload,
        )

    def prepare(self, wish: Wish | None = None) -> str:
        prepared: Prepared = take_in(preparer=self.preparer, wish=wish or self.wish())
        return prepared.operation_id

    def decide(self, operation_id: str, person: User | None = None, verdict: str = "approve", **more: Any) -> Answered:
        intent = Intent.objects.get(operation_id=operation_id)
        return decide(
            operation_id=operation_id,
            tenant_id=self.tenant.pk,
            person=person or self.alice,
            verdict=Decision.Verdict(verdict),
            shown_hash=more.pop("shown_hash", intent.payload_hash),
            shown_display=more.pop("shown_display", display_of(intent).digest),
            **more,
        )

    def approved(self, wish: Wish | None = None) -> str:
        """Prepare and approve; returns the operation id."""
        operation_id = self.prepare(wish)
        self.decide(operation_id)
        return operation_id

    def state(self, operation_id: str) -> str:
        return Operation.objects.values_list("state", flat=True).get(pk=operation_id)

    def drain(self) -> int:
        return drain()


def make_world(*, quorum: int = 1, approval_seconds: int = 3600, provider: str = "simulated") -> World:
    """A fresh tenant; nothing is shared with other tests but the tables. `provider` picks the bank's contract."""
    number = next(_numbers)
    tenant = Tenant.objects.create(slug=f"org-{number}", name=f"Org {number}")

    def person(name: str, *roles: Role) -> User:
        user = User.objects.create(email=f"{name.lower()}@org-{number}.example", name=name, password="!unusable")
        for role in roles:
            Membership.objects.create(tenant=tenant, user=user, role=role)
        return user

    otto = person("Otto", Role.APPROVER)
    agent = Agent.objects.create(tenant=tenant, name="invoice-runner", owner=otto)
    key = f"ops_test_{number:08d}_" + "k" * 43
    AgentKey.objects.create(
        tenant=tenant,
        agent=agent,
        prefix=key[:17],
        key_hash=AgentKey.hash_of(key),
        actions=["payments.create", "crm.update_deal"],
        expires_at=timezone.now() + timedelta(days=30),
    )
    for name in ("bank-main", "crm-main"):
        Connection.objects.create(
            tenant=tenant,
            name=name,
            provider=provider if name == "bank-main" else "simulated",
            mode="automatic",
            credential_reference="env:BANK_MAIN_TOKEN",
        )
    for action in ("payments.create", "crm.update_deal"):
        Policy.objects.create(tenant=tenant, action=action, version=1, quorum=quorum, approval_seconds=approval_seconds)
    return World(
        tenant=tenant,
        alice=person("Alice", Role.APPROVER),
        ana=person("Ana", Role.APPROVER),
        oscar=person("Oscar", Role.OPERATOR),
        olga=person("Olga", Role.OPERATOR),
        audrey=person("Audrey", Role.AUDITOR),
        otto=otto,
        admin=person("Adam", Role.ADMINISTRATOR),
        agent=agent,
        key=key,
    )
