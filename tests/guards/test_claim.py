"""No call without a permit for these very bytes, no second claim, no claim without its attempt (invariants 1, 2, 6)."""

from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from tests.guards.attack import (
    ATTEMPT,
    CLAIM,
    OTHER_HASH,
    assert_refused,
    claim,
    claimed,
    force,
    learn,
    move,
    one,
    run,
    token,
    unknown,
)
from tests.support.tenant import World


def test_an_approved_operation_can_be_claimed_with_its_attempt(world: World) -> None:
    operation_id = world.approved()
    parameters = claim(operation_id)
    with transaction.atomic():
        run(CLAIM, parameters)
        run(ATTEMPT, parameters)
    assert world.state(operation_id) == "in_progress"
    assert run("SELECT number, outcome FROM operations_attempt") == [(1, "")]


def test_a_claim_without_any_permit_is_refused(world: World) -> None:
    assert_refused("claim_needs_permit", CLAIM, claim(world.prepare()), then=[ATTEMPT])


PERMITS = {
    "expired": "expires_at = clock_timestamp() - interval '1 ms'",
    "expiring at this instant": "expires_at = clock_timestamp()",
    "revoked": "revoked_at = clock_timestamp()",
    "for another hash": f"payload_hash = '{OTHER_HASH}'",
    "for another policy": "policy_version = 'payments.create-v0'",
}


@pytest.mark.parametrize("how", PERMITS)
def test_a_claim_with_a_permit_that_does_not_fit_is_refused(world: World, how: str) -> None:
    operation_id = world.approved()
    force("operations_permit", f"UPDATE operations_permit SET {PERMITS[how]}")
    assert_refused("claim_needs_permit", CLAIM, claim(operation_id), then=[ATTEMPT])


def test_a_permit_of_another_operation_opens_nothing(world: World) -> None:
    world.approved()
    assert_refused("claim_needs_permit", CLAIM, claim(world.prepare()), then=[ATTEMPT])


def test_the_database_hashes_the_stored_bytes_itself(world: World) -> None:
    """Even with the check constraint gone and the guards off for the forgery, the claim sees other bytes."""
    operation_id = world.approved()
    with transaction.atomic():
        run("ALTER TABLE operations_intent DROP CONSTRAINT intent_hash_is_of_bytes")
        run("ALTER TABLE operations_intent DISABLE TRIGGER append_only")
        run("UPDATE operations_intent SET canonical = canonical || '\\x20'::bytea")
        with pytest.raises(IntegrityError, match="no live permit for the stored bytes"), transaction.atomic():
            run(CLAIM, claim(operation_id))
        transaction.set_rollback(True)
    assert world.state(operation_id) == "not_started"


def test_a_claim_after_the_policy_moved_is_refused(world: World) -> None:
    operation_id = world.approved()
    run(
        "INSERT INTO operations_policy (tenant_id, action, version, quorum, approval_seconds, limits, "
        "owner_may_approve) VALUES (%s, 'payments.create', 2, 2, 60, '{}', false)",
        [world.tenant.pk],
    )
    assert_refused("claim_needs_policy_in_force", CLAIM, claim(operation_id), then=[ATTEMPT])


@pytest.mark.parametrize("lease", ["NULL", "clock_timestamp()", "clock_timestamp() - interval '1 s'"])
def test_a_claim_without_a_lease_in_the_future_is_refused(world: World, lease: str) -> None:
    operation_id = world.approved()
    statement = CLAIM.replace("lease_until = clock_timestamp() + interval '90 s'", f"lease_until = {lease}")
    assert_refused("claim_needs_lease", statement, claim(operation_id), then=[ATTEMPT])


def test_a_claim_that_hides_when_it_was_first_sent_is_refused(world: World) -> None:
    statement = CLAIM.replace("first_sent_at = coalesce(first_sent_at, clock_timestamp())", "first_sent_at = NULL")
    assert_refused("claim_needs_lease", statement, claim(world.approved()), then=[ATTEMPT])


def test_a_claim_without_its_attempt_row_cannot_be_committed(world: World) -> None:
    assert_refused("claim_has_attempt", CLAIM, claim(world.approved()))


def test_what_is_claimed_cannot_be_claimed_again(world: World) -> None:
    operation_id = claimed(world)
    assert_refused("operation_moves_with_state", CLAIM, claim(operation_id))


def test_two_claims_in_one_transaction_are_refused(world: World) -> None:
    assert_refused("operation_moves_with_state", CLAIM, claim(world.approved()), then=[ATTEMPT, CLAIM, ATTEMPT])


def returned(world: World) -> str:
    """An operation whose first call provably never left."""
    operation_id = claimed(world)
    run("UPDATE operations_attempt SET outcome = 'not_sent', finished_at = clock_timestamp()")
    move(operation_id, "not_started", "not_sent")
    return operation_id


def test_after_a_call_that_never_left_a_new_claim_may_be_made(world: World) -> None:
    parameters = claim(returned(world))
    with transaction.atomic():
        run(CLAIM, parameters)
        run(ATTEMPT, parameters)
    assert run("SELECT number FROM operations_attempt ORDER BY number") == [(1,), (2,)]


def test_the_same_claim_token_serves_once(world: World) -> None:
    operation_id = returned(world)
    old = one("SELECT claim_token FROM operations_operation")
    assert_refused("claim_is_new", CLAIM, claim(operation_id, old), then=[ATTEMPT])


def test_a_token_of_an_earlier_claim_does_not_serve_later(world: World) -> None:
    operation_id = returned(world)
    first = one("SELECT claim_token FROM operations_operation")
    force("operations_operation", "UPDATE operations_operation SET claim_token = NULL")
    assert_refused("attempt_per_claim", CLAIM, claim(operation_id, first), then=[ATTEMPT])


@pytest.mark.parametrize("number", ["attempts_made", "attempts_made + 2", "0"])
def test_a_claim_takes_the_next_number(world: World, number: str) -> None:
    statement = CLAIM.replace("attempts_made = attempts_made + 1", f"attempts_made = {number}")
    assert_refused("claim_is_new", statement, claim(world.approved()), then=[ATTEMPT])


@pytest.mark.parametrize("verdict", ["happened", "accepted", "several", "different"])
@pytest.mark.parametrize("source", ["late_response", "look_up"])
def test_a_claim_against_evidence_that_it_may_be_there_is_refused(world: World, verdict: str, source: str) -> None:
    operation_id = returned(world)
    learn(operation_id, verdict, source=source)
    assert_refused("claim_against_evidence", CLAIM, claim(operation_id), then=[ATTEMPT])


def allowed_again(world: World, operation_id: str) -> None:
    """An operator's word that it may be sent again, with its resolution, moves it back."""
    case = one(
        "INSERT INTO reconciliation_case (operation_id, tenant_id, kind, why, closed_because) "
        "VALUES (%s, %s, 'unknown', 'Nobody knows.', '') RETURNING id",
        [operation_id, world.tenant.pk],
    )
    run(
        "INSERT INTO reconciliation_resolution (case_id, operation_id, tenant_id, verdict, reason, "
        "evidence_reference, external_id, by_id) VALUES (%s, %s, %s, 'may_retry', 'Not there.', 'ticket 1', '', %s)",
        [case, operation_id, world.tenant.pk, world.oscar.pk],
    )
    move(operation_id, "not_started", "settled_may_retry", learn(operation_id, "may_retry", source="operator"))


def test_a_persons_word_opens_the_way_against_earlier_evidence(world: World) -> None:
    operation_id = unknown(world)
    learn(operation_id, "several")
    allowed_again(world, operation_id)
    parameters = claim(operation_id)
    with transaction.atomic():
        run(CLAIM, parameters)
        run(ATTEMPT, parameters)
    assert world.state(operation_id) == "in_progress"


def test_a_persons_word_does_not_cover_what_is_learned_after_it(world: World) -> None:
    """A worker that had lost its claim answers after the operator allowed another call: it is there, so no call."""
    operation_id = unknown(world)
    allowed_again(world, operation_id)
    learn(operation_id, "happened", source="late_response")
    assert_refused("claim_against_evidence", CLAIM, claim(operation_id), then=[ATTEMPT])


FORGED_ATTEMPTS = {
    "without a claim": ("not_started", {}),
    "under another token": ("in_progress", {"claim_token": "gen_random_uuid()"}),
    "under another number": ("in_progress", {"number": "o.attempts_made + 1"}),
    "of another tenant": ("in_progress", {"tenant": "o.tenant_id + 1"}),
    "believed absent during its own lease": ("in_progress", {"credible": "o.lease_until - interval '1 us'"}),
    "that is finished already": ("in_progress", {"outcome": "'not_sent'"}),
    "that asks for no evidence of absence": ("in_progress", {"needed": "0"}),
}


def forged_attempt(changes: dict[str, str]) -> str:
    row = {
        "tenant": "o.tenant_id",
        "number": "o.attempts_made",
        "claim_token": "o.claim_token",
        "credible": "o.lease_until",
        "needed": "2",
        "outcome": "''",
    } | changes
    return (
        "INSERT INTO operations_attempt (operation_id, tenant_id, number, claim_token, worker, permit_id, "
        "request_digest, absence_credible_at, absences_needed, phase, provider_request_id, external_id, outcome) "
        f"SELECT o.intent_id, {row['tenant']}, {row['number']}, coalesce({row['claim_token']}, gen_random_uuid()), "
        f"'attacker', p.id, '', coalesce({row['credible']}, now()), {row['needed']}, '', '', '', {row['outcome']} "
        "FROM operations_operation o JOIN operations_permit p ON p.operation_id = o.intent_id "
        "WHERE o.intent_id = %(id)s"
    )


@pytest.mark.parametrize("how", FORGED_ATTEMPTS)
def test_an_attempt_outside_its_claim_is_refused(world: World, how: str) -> None:
    state, changes = FORGED_ATTEMPTS[how]
    parameters = claim(world.approved())
    steps = [forged_attempt(changes)] if state == "not_started" else [CLAIM, forged_attempt(changes)]
    assert_refused("attempt_needs_claim", steps[0], parameters, then=steps[1:])


def test_an_attempt_under_another_operations_permit_is_refused(world: World) -> None:
    other = world.approved()
    permit = one("SELECT id FROM operations_permit WHERE operation_id = %s", [other])
    statement = forged_attempt({}).replace("p.id", str(permit))
    assert_refused("attempt_needs_claim", CLAIM, claim(world.approved()), then=[statement])


def test_an_attempt_under_a_permit_that_is_over_is_refused(world: World) -> None:
    operation_id = world.approved()
    over = "INSERT INTO operations_permit (operation_id, tenant_id, round_number, payload_hash, policy_version, " \
        "granted_by, expires_at, revoked_at) SELECT operation_id, tenant_id, 9, payload_hash, policy_version, " \
        "granted_by, expires_at, clock_timestamp() FROM operations_permit"  # fmt: skip
    force("operations_permit", over)
    revoked = one("SELECT id FROM operations_permit WHERE revoked_at IS NOT NULL")
    statement = forged_attempt({}).replace("p.id", str(revoked)) + " AND p.revoked_at IS NULL"
    assert_refused("attempt_needs_claim", CLAIM, claim(operation_id), then=[statement])


@pytest.mark.parametrize(
    "change",
    ["number = 7", "worker = 'other'", "request_digest = 'other'", "claimed_at = now()", "absences_needed = 1",
     "absence_credible_at = now() - interval '1 day'", "claim_token = gen_random_uuid()"],
)  # fmt: skip
def test_what_an_attempt_was_cannot_change(world: World, change: str) -> None:
    claimed(world)
    assert_refused("attempt_is_a_fact", f"UPDATE operations_attempt SET {change}")


def test_an_attempt_is_finished_once(world: World) -> None:
    claimed(world)
    run("UPDATE operations_attempt SET phase = 'waiting', http_status = 200, provider_request_id = 'req_1'")
    run("UPDATE operations_attempt SET outcome = 'lost', finished_at = clock_timestamp()")
    assert_refused("attempt_is_a_fact", "UPDATE operations_attempt SET outcome = 'not_sent'")
    assert_refused("attempt_is_a_fact", "UPDATE operations_attempt SET provider_request_id = 'req_2'")


def test_an_operation_in_progress_has_a_claim(world: World) -> None:
    operation_id = world.prepare()
    with pytest.raises(IntegrityError, match="operation_in_progress_is_claimed"):
        force("operations_operation", "UPDATE operations_operation SET state = 'in_progress'")
    assert world.state(operation_id) == "not_started"


def test_a_second_worker_with_another_token_moves_nothing(world: World) -> None:
    """The product's own conditional statement: not refused, and no row touched."""
    operation_id = claimed(world)
    touched = run(
        "UPDATE operations_operation SET state = 'unknown', last_event = 'lost' "
        "WHERE intent_id = %s AND claim_token = %s RETURNING intent_id",
        [operation_id, token()],
    )
    assert touched == [] and world.state(operation_id) == "in_progress"


def test_the_clock_that_decides_is_the_databases(world: World) -> None:
    """A permit that the database's clock calls over is over, whatever a worker's clock says."""
    operation_id = world.approved()
    force("operations_permit", "UPDATE operations_permit SET expires_at = %s", [timezone.now() - timedelta(hours=1)])
    assert_refused("claim_needs_permit", CLAIM, claim(operation_id), then=[ATTEMPT])
