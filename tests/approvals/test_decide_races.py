"""Answers that arrive together, at real web processes: one outcome, and never a second call."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import httpx
from django.db import connection, transaction

from approvals.models import Decision
from approvals.services import Answered, MayNotDecide
from operations.models import Permit, User
from tests.support.simulator import Simulator
from tests.support.tenant import World, make_world
from tests.support.visitor import Visitor
from tests.support.waiting import wait_until
from tests.support.web import Site, let_sign_in

ROUNDS = 8


def together[Result](*calls: Callable[[], Result]) -> list[Result]:
    """All calls at one moment, each in a thread of its own; the results in their order."""
    start = Barrier(len(calls))

    def run(call: Callable[[], Result]) -> Result:
        start.wait(20)
        return call()

    with ThreadPoolExecutor(len(calls)) as threads:
        return [future.result() for future in [threads.submit(run, call) for call in calls]]


def test_ten_parallel_approvals_of_one_session_at_two_processes_pay_once(world: World, simulator: Simulator) -> None:
    operation_id = world.prepare()
    let_sign_in(world.alice)
    with Site(processes=2) as site, Visitor(site.url, world.alice) as alice:
        form = alice.form(operation_id)
        answers = together(*[lambda: alice.post(operation_id, form, "approve")] * 10)
    assert sorted(answer.status_code for answer in answers) == [302] + [409] * 9
    assert all("You have already answered this." in answer.text for answer in answers if answer.status_code == 409)
    world.drain()
    assert Decision.objects.count() == 1
    assert len(simulator.posts(reference=operation_id)) == 1


def test_one_approves_while_the_other_rejects(world: World, simulator: Simulator) -> None:
    let_sign_in(world.alice, world.ana)
    with Site(processes=2) as site, Visitor(site.url, world.alice) as alice, Visitor(site.url, world.ana) as ana:
        for _ in range(ROUNDS):
            operation_id = world.prepare()
            forms = alice.form(operation_id), ana.form(operation_id)
            answers: list[httpx.Response] = together(
                lambda: alice.post(operation_id, forms[0], "approve"),  # noqa: B023  # called before the next round
                lambda: ana.post(operation_id, forms[1], "reject", reason="Not ours."),  # noqa: B023
            )
            assert sorted(answer.status_code for answer in answers) == [302, 409]
            world.drain()
            verdict = Decision.objects.get(operation_id=operation_id).verdict
            assert len(simulator.posts(reference=operation_id)) == (1 if verdict == "approve" else 0)
            late = next(answer.text for answer in answers if answer.status_code == 409)
            assert ("Already approved by Alice." if verdict == "approve" else "Already rejected by Ana.") in late


def test_two_who_must_agree_and_answer_together_make_one_permit(database: None, simulator: Simulator) -> None:
    world = make_world(quorum=2)
    for _ in range(ROUNDS):
        operation_id = world.prepare()
        answers = together(*[_approve(world, operation_id, person) for person in (world.alice, world.ana)])
        assert sorted(answer.approvals for answer in answers) == [1, 2]
        assert Permit.objects.filter(operation_id=operation_id).count() == 1
        world.drain()
        assert len(simulator.posts(reference=operation_id)) == 1


def test_three_answer_together_where_two_suffice(database: None, simulator: Simulator) -> None:
    world = make_world(quorum=2)
    owner = world.otto
    world.agent.owner = world.admin
    world.agent.save(update_fields=["owner"])
    operation_id = world.prepare()
    calls = [_approve(world, operation_id, person) for person in (world.alice, world.ana, owner)]
    answers = together(*[_or_refusal(call) for call in calls])
    assert sorted(answer for answer in answers if isinstance(answer, int)) == [1, 2]
    world.drain()
    assert Decision.objects.count() == 2
    assert len(simulator.posts(reference=operation_id)) == 1


def test_an_answer_that_waited_for_another_one_counts_it(database: None, simulator: Simulator) -> None:
    world = make_world(quorum=2)
    operation_id = world.prepare()
    with ThreadPoolExecutor(1) as threads:
        with transaction.atomic():
            world.decide(operation_id, world.alice)
            second = threads.submit(_approve(world, operation_id, world.ana))
            wait_until(_somebody_waits_for_a_lock)
        assert second.result(20).complete
    world.drain()
    assert len(simulator.posts(reference=operation_id)) == 1


def _somebody_waits_for_a_lock() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
        row = cursor.fetchone()
    return row is not None and row[0] > 0


def _approve(world: World, operation_id: str, person: User) -> Callable[[], Answered]:
    def call() -> Answered:
        try:
            return world.decide(operation_id, person)
        finally:
            connection.close()

    return call


def _or_refusal(call: Callable[[], Answered]) -> Callable[[], int | str]:
    def either() -> int | str:
        try:
            return call().approvals
        except MayNotDecide as refused:
            return str(refused)

    return either
