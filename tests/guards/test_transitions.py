"""States move along the table only (invariant 5): the whole product of states and events, tried by raw SQL."""

from itertools import product

import pytest
from django.db import IntegrityError, connection, transaction

from operations.core.states import TRANSITIONS, Event, State
from tests.guards.attack import MOVE, assert_refused, claimed, force, learn, one, run
from tests.support.tenant import World

LEGAL = {(before.value, event.value, after.value) for (before, event), after in TRANSITIONS.items()}


def test_the_databases_table_is_the_codes_table(database: None) -> None:
    assert set(run("SELECT from_state, event, to_state FROM opsconsole_transitions()")) == LEGAL
    assert one("SELECT count(*) FROM opsconsole_transitions()") == len(LEGAL)


def put_into(operation_id: str, state: str) -> None:
    """The row as it would stand in that state, with a fact and a claim, so that only the move itself is in question."""
    force(
        "operations_operation",
        "UPDATE operations_operation SET state = %s, last_event = '', waits_for = 'operator', fact_id = %s "
        "WHERE intent_id = %s",
        [state, learn(operation_id, "says_nothing"), operation_id],
    )


def refusal_of(operation_id: str, event: str, after: str) -> str:
    """The rule that refuses this move; "" when none does. What was tried is undone."""
    with transaction.atomic():
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute(MOVE.replace("fact_id = %s", "fact_id = fact_id"), [after, event, operation_id])
        except IntegrityError as error:
            return str(error.__cause__.diag.constraint_name)  # type: ignore[union-attr]
        transaction.set_rollback(True)
        return ""


@pytest.mark.parametrize("before", [state.value for state in State])
def test_no_way_leads_from_a_state_but_those_of_the_table(world: World, before: str) -> None:
    operation_id = claimed(world)
    put_into(operation_id, before)
    for event, after in product(Event, State):
        refused = refusal_of(operation_id, event.value, after.value)
        if (before, event.value, after.value) in LEGAL:
            assert refused not in ("operation_transition", "operation_moves_with_state"), (event, after)
        elif before == after.value:
            assert refused == "operation_moves_with_state", (event, after)
        else:
            assert refused == "operation_transition", (event, after)
    assert one("SELECT state FROM operations_operation WHERE intent_id = %s", [operation_id]) == before


@pytest.mark.parametrize("state", ["done", "", "NOT_STARTED"])
def test_a_state_that_nobody_defined_cannot_be_written(world: World, state: str) -> None:
    operation_id = world.prepare()
    assert_refused("operation_transition", "UPDATE operations_operation SET state = %s", [state])
    assert world.state(operation_id) == "not_started"


@pytest.mark.parametrize(
    "change",
    [
        "claim_token = gen_random_uuid()",
        "lease_until = clock_timestamp() + interval '1 day'",
        "attempts_made = 0",
        "last_event = 'found'",
        "reason = 'happened'",
        "fact_id = (SELECT max(id) FROM operations_evidence)",
        "external_id = 'pay_of_somebody_else'",
        "last_actor = 'nobody'",
    ],
)
def test_what_belongs_to_a_state_does_not_change_without_it(world: World, change: str) -> None:
    operation_id = claimed(world)
    learn(operation_id, "happened")
    assert_refused("operation_moves_with_state", f"UPDATE operations_operation SET {change}")


@pytest.mark.parametrize(
    "change",
    ["tenant_id = tenant_id + 1", "connection_id = connection_id + 1", "created_at = now()",
     "creates_object = NOT creates_object", "intent_id = 'op_01JNGR0000ABCDEFGHJKMNPQRS'"],
)  # fmt: skip
def test_what_an_operation_belongs_to_never_changes(world: World, change: str) -> None:
    world.prepare()
    assert_refused("operation_identity", f"UPDATE operations_operation SET {change}")


@pytest.mark.parametrize("moment", ["NULL", "clock_timestamp()"])
def test_the_first_send_is_a_fact(world: World, moment: str) -> None:
    claimed(world)
    assert_refused("operation_first_sent_once", f"UPDATE operations_operation SET first_sent_at = {moment}")


def test_only_a_claim_sets_the_claim(world: World) -> None:
    claimed(world)
    for change in ("claim_token = gen_random_uuid()", "attempts_made = 0"):
        assert_refused(
            "operation_claim_by_claim",
            f"UPDATE operations_operation SET state = 'unknown', last_event = 'lost', {change}",
        )


BEGIN = """
INSERT INTO operations_operation (intent_id, tenant_id, connection_id, state, last_event, last_actor, reason, waits_for,
    external_id, creates_object, attempts_made, claim_token, first_sent_at)
SELECT operation_id, {tenant}, {connection}, {state}, {event}, 'attacker', '', 'approver', '', true, {attempts},
    {token}, {sent} FROM operations_intent
"""
HONEST = {"tenant": "tenant_id", "connection": "connection_id", "state": "'not_started'", "event": "''",
          "attempts": "0", "token": "NULL", "sent": "NULL"}  # fmt: skip


@pytest.mark.parametrize(
    "forged",
    [
        *({"state": f"'{state.value}'"} for state in State if state is not State.NOT_STARTED),
        {"event": "'settled_may_retry'"},
        {"attempts": "1"},
        {"token": "gen_random_uuid()"},
        {"sent": "clock_timestamp()"},
        {"tenant": "tenant_id + 1"},
        {"connection": "connection_id + 1"},
    ],
    ids=lambda forged: "-".join(f"{key}={value}" for key, value in forged.items()),
)
def test_an_operation_begins_not_started_and_unsent(world: World, forged: dict[str, str]) -> None:
    unbegun(world)
    assert_refused("operation_begins_not_started", BEGIN.format(**HONEST | forged))


def test_an_operation_may_begin_honestly_and_once(world: World) -> None:
    unbegun(world)
    run(BEGIN.format(**HONEST))
    assert one("SELECT state FROM operations_operation") == "not_started"
    assert_refused("operations_operation_pkey", BEGIN.format(**HONEST))


def unbegun(world: World) -> None:
    """An intent whose operation is not there."""
    world.prepare()
    for table in ("approvals_approvalround", "operations_journalentry", "operations_operation"):
        force(table, f"DELETE FROM {table}")
