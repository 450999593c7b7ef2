"""Our own services over the same life cycle: prepare, approve, claim, record. The provider answers at once."""

import json
import sys
import uuid
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import connection
from django.utils import timezone

from approvals.models import Decision
from approvals.services import decide
from operations.core.contract import Contract
from operations.core.intent import Json
from operations.core.outcomes import Answer, Phase
from operations.core.render import RenderedRequest
from operations.display import display_of
from operations.models import Agent, AgentKey, Connection, Intent, Membership, Policy, Role, Tenant, User
from operations.providers.ports import Limits
from operations.services import execute
from operations.services.prepare import Preparer, Wish
from opsconsole.engine.gather import gather
from opsconsole.engine.intake import take_in


class InstantWriter:
    """A provider without delay: echoes the approved values under a new id."""

    def submit(self, request: RenderedRequest, *, limits: Limits) -> Answer:
        """See `operations.providers.ports.Writer.submit`."""
        sent = json.loads(request.body)
        body: dict[str, Any] = {
            **sent,
            "id": f"pay_{uuid.uuid4().hex}",
            "object": "payment",
            "status": "succeeded",
            "direction": "out",
        }
        return Answer(phase=Phase.ANSWERED, status=201, headers={"request-id": "req_1"}, body=body)


def instant_writer(*, name: str, credential_reference: str, contract: Contract) -> InstantWriter:
    """Stands in for the door to the network, which is not what is measured here."""
    return InstantWriter()


class Guarded:
    """One operation through the product's services, with every guard on."""

    name = "opsconsole"
    _display = ""

    def set_up(self) -> None:
        slug = f"bench-{uuid.uuid4().hex[:8]}"
        self._tenant = Tenant.objects.create(slug=slug, name="Bench")
        owner = User.objects.create(email=f"owner@{slug}.example", name="Owner", password="!")
        self._alice = User.objects.create(email=f"alice@{slug}.example", name="Alice", password="!")
        Membership.objects.create(tenant=self._tenant, user=self._alice, role=Role.APPROVER)
        self._agent = Agent.objects.create(tenant=self._tenant, name="bench", owner=owner)
        AgentKey.objects.create(
            tenant=self._tenant,
            agent=self._agent,
            prefix=slug[:17],
            key_hash="0" * 64,
            actions=["payments.create"],
            expires_at=timezone.now() + timedelta(days=1),
        )
        Connection.objects.create(
            tenant=self._tenant,
            name="bank-main",
            provider="simulated",
            mode="automatic",
            credential_reference="env:BANK_MAIN_TOKEN",
        )
        Policy.objects.create(tenant=self._tenant, action="payments.create", version=1)
        settings.PROVIDER_TARGETS = {"bank-main": "http://127.0.0.1:9"}
        # The package's name `claim` is the function; the module it stands in has to be asked for by its full name.
        sys.modules["operations.services.execute.claim"].writer_for = instant_writer  # type: ignore[attr-defined]
        self._preparer = Preparer(
            tenant_id=self._tenant.pk,
            tenant_slug=slug,
            agent_id=self._agent.pk,
            agent_name="bench",
            actions=frozenset({"payments.create"}),
        )

    def run_one(self) -> None:
        payload: dict[str, Json] = {
            "amount_minor": 1250000,
            "currency": "KZT",
            "recipient": "vendor_77",
            "recipient_name": "Vendor 77 LLP",
        }
        wish = Wish(
            client_reference=uuid.uuid4().hex, action="payments.create", connection="bank-main", payload=payload
        )
        prepared = take_in(preparer=self._preparer, wish=wish)
        operation_id = prepared.operation_id
        self._approve(operation_id, prepared.payload_hash)
        gathered = gather(operation_id)
        assert gathered is not None
        claim = execute.claim(operation_id=operation_id, worker="bench")
        assert claim is not None
        finding = execute.record(claim, execute.call(claim))
        assert finding.verdict == "happened", finding

    def _approve(self, operation_id: str, payload_hash: str) -> None:
        """The page that was shown is not measured; all payloads here are equal, so one display serves for all."""
        if not self._display:
            self._display = display_of(Intent.objects.get(operation_id=operation_id)).digest
        decide(
            operation_id=operation_id,
            tenant_id=self._tenant.pk,
            person=self._alice,
            verdict=Decision.Verdict.APPROVE,
            shown_hash=payload_hash,
            shown_display=self._display,
        )

    def close(self) -> None:
        connection.close()
