"""What tests of doubts do again and again: lose an answer, wait by the database's clock, count, say a word."""

import re
from html import unescape
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from operations.core.contract import Contract
from operations.core.outcomes import Finding
from operations.models import Evidence, Intent, Operation, User
from operations.providers.registry import contract_for
from opsconsole.engine.look_up_now import look_up_now
from opsconsole.engine.resume import resume
from reconciliation.models import Case, Resolution
from reconciliation.services import cases
from reconciliation.services.settle import MayNotSettle, Word, settle
from reconciliation.services.standing import standing_of
from tests.support.simulator import Simulator
from tests.support.tenant import World

WAITING = {"schedule": {"delays": (0, 3600)}}  # the engine does not look by itself while a person does
WORKER = "worker of the test"
BAD_GATEWAY = {"error": {"type": "bad_gateway"}}


def lost(world: World, simulator: Simulator, *, acting: str = "before") -> str:
    """A payment whose one answer is lost, before or after the provider acted; it has not been looked up yet."""
    simulator.fault(f"lose_answer_{acting}_acting")
    operation_id = world.approved()
    resume(operation_id, worker=WORKER)
    assert world.state(operation_id) == "unknown"
    return operation_id


def fail_look_ups(simulator: Simulator, times: int = 0) -> None:
    """Let reads fail; 0 is for ever."""
    simulator.fault("raw", method="GET", status=503, body=BAD_GATEWAY, times=times)


def await_next_step(operation_id: str) -> None:
    """Let the database's clock come to the next step."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_sleep(greatest(0, extract(epoch FROM next_step_at - clock_timestamp()))) "
            "FROM operations_operation WHERE intent_id = %s AND next_step_at < clock_timestamp() + interval '10 s'",
            [operation_id],
        )
        assert cursor.rowcount == 1, "it has no next step soon"


def await_credible_absence(operation_id: str) -> None:
    """Let the database's clock come to the moment from which an absence counts."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_sleep(greatest(0, extract(epoch FROM max(absence_credible_at) - clock_timestamp()) + 0.01)) "
            "FROM operations_attempt WHERE operation_id = %s",
            [operation_id],
        )


def step(operation_id: str) -> None:
    """Wait until the next step is due and do it."""
    await_next_step(operation_id)
    resume(operation_id, worker=WORKER)


def look_ups(operation_id: str) -> list[Evidence]:
    """What was learned by asking, oldest first."""
    return list(Evidence.objects.filter(operation_id=operation_id, source="look_up").order_by("pk"))


def asked(simulator: Simulator, operation_id: str) -> int:
    """How often the provider was asked about it."""
    return len([row for row in simulator.requests(reference=operation_id) if row["method"] == "GET"])


def open_cases(operation_id: str) -> list[str]:
    """The kinds of its open cases."""
    return list(Case.objects.filter(operation_id=operation_id, closed_at=None).values_list("kind", flat=True))


def contract(operation_id: str) -> Contract:
    """The contract in force for it."""
    intent = Intent.objects.select_related("connection").get(pk=operation_id)
    return contract_for(intent.connection.provider, intent.action).contract


def look(world: World, operation_id: str, person: User | None = None) -> Finding:
    """Press *Look up now*."""
    return look_up_now(operation_id=operation_id, tenant_id=world.tenant.pk, person=person or world.oscar)


def word(verdict: str = "did_not_happen", **more: str) -> Word:
    """A complete word."""
    return Word(
        verdict=Resolution.Verdict(verdict),
        reason=more.get("reason", "The bank wrote so."),
        evidence_reference=more.get("evidence_reference", "mail of 1 December"),
        external_id=more.get("external_id", "pay_by_hand" if verdict == "happened" else ""),
    )


def say(
    world: World, operation_id: str, said: Word, person: User | None = None, *, at_once: bool = False, **page: int
) -> Resolution:
    """Settle as an operator; `case_id` and `seen` are what the page showed. "It did not happen" waits until that can
    be known, unless `at_once`."""
    if not at_once and said.verdict in (Resolution.Verdict.DID_NOT_HAPPEN, Resolution.Verdict.MAY_RETRY):
        await_credible_absence(operation_id)
    return settle(
        operation_id=operation_id,
        tenant_id=world.tenant.pk,
        person=person or world.oscar,
        word=said,
        contract=contract(operation_id),
        case_id=page.get("case_id"),
        seen=page.get("seen"),
    )


def operation(operation_id: str) -> Operation:
    """As it stands in the database."""
    return Operation.objects.get(pk=operation_id)


def refused(world: World, operation_id: str, **said: Any) -> MayNotSettle:
    """The refusal of a word; nothing of it may be on record."""
    page = {name: said.pop(name) for name in ("case_id", "seen") if name in said}
    person = said.pop("person", None)
    with pytest.raises(MayNotSettle) as refusal:
        say(world, operation_id, word(**said), person, at_once=True, **page)
    return refusal.value


def open_case_of(world: World, operation_id: str) -> int:
    """The page's case, opened by taking it."""
    cases.take(operation_id=operation_id, tenant_id=world.tenant.pk, person=world.olga)
    return Case.objects.get(operation_id=operation_id, closed_at=None).pk


def said_so_far(operation_id: str) -> int:
    """What the page carries as seen."""
    return standing_of(operation(operation_id), contract(operation_id), case_kind="").said


def signed_in(person: User) -> Client:
    """A browser of this person's."""
    client = Client()
    client.force_login(person)
    return client


def text(answer: Any) -> str:
    """The page as a reader has it: without tags, with single spaces."""
    page = re.sub(r"<(script|style|svg).*?</\1>", " ", answer.content.decode(), flags=re.S)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page)).split())


def field(answer: Any, name: str) -> str:
    """What a hidden field of the page carries."""
    found = re.search(rf'name="{name}" value="([^"]*)"', answer.content.decode())
    assert found is not None, name
    return found[1]
