"""A permit only from a quorum of people who may, about this hash, in time (invariant 2)."""

import pytest
from django.db import IntegrityError

from tests.guards.attack import OTHER_HASH, assert_refused, force, learn, move, one, run
from tests.support.tenant import World, make_world

DECIDE = """
INSERT INTO approvals_decision (round_id, operation_id, tenant_id, person_id, verdict, payload_hash, display_hash,
    reason, presence, separate_effect)
SELECT r.id, r.operation_id, r.tenant_id, %(person)s, %(verdict)s, {hash}, '', 'Because.', 'session', false
FROM approvals_approvalround r WHERE r.operation_id = %(id)s
"""
GRANT = """
INSERT INTO operations_permit (operation_id, tenant_id, round_number, payload_hash, policy_version, granted_by,
    expires_at, revoked_at)
SELECT r.operation_id, r.tenant_id, {number}, {hash}, {policy}, '["Attacker"]', {expires}, {revoked}
FROM approvals_approvalround r WHERE r.operation_id = %(id)s
"""
HONEST = {"number": "r.number", "hash": "r.payload_hash", "policy": "r.policy_version", "expires": "r.expires_at",
          "revoked": "NULL::timestamptz"}  # fmt: skip


def decide(operation_id: str, person: int, verdict: str = "approve") -> None:
    run(DECIDE.format(hash="r.payload_hash"), {"id": operation_id, "person": person, "verdict": verdict})


def assert_decision_refused(
    by: str, operation_id: str, person: int, verdict: str = "approve", payload_hash: str = "r.payload_hash"
) -> None:
    parameters = {"id": operation_id, "person": person, "verdict": verdict}
    assert_refused(by, DECIDE.format(hash=payload_hash), parameters)


@pytest.fixture
def pair(world: World) -> World:
    """A tenant where two people must agree."""
    return make_world(quorum=2)


def test_a_quorum_of_two_people_gives_a_permit(pair: World) -> None:
    operation_id = pair.prepare()
    decide(operation_id, pair.alice.pk)
    decide(operation_id, pair.ana.pk)
    run(GRANT.format(**HONEST), {"id": operation_id})
    assert one("SELECT count(*) FROM operations_permit WHERE operation_id = %s", [operation_id]) == 1


def test_without_any_decision_there_is_no_permit(world: World) -> None:
    assert_refused("permit_needs_quorum", GRANT.format(**HONEST), {"id": world.prepare()})


def test_one_of_two_is_not_a_quorum(pair: World) -> None:
    operation_id = pair.prepare()
    decide(operation_id, pair.alice.pk)
    assert_refused("permit_needs_quorum", GRANT.format(**HONEST), {"id": operation_id})


def test_one_person_twice_is_not_two_people(pair: World) -> None:
    operation_id = pair.prepare()
    decide(operation_id, pair.alice.pk)
    assert_decision_refused("decision_once_per_person", operation_id, pair.alice.pk)
    assert_decision_refused("decision_once_per_person", operation_id, pair.alice.pk, "reject")


def test_even_without_the_constraint_one_person_counts_once(pair: World) -> None:
    operation_id = pair.prepare()
    decide(operation_id, pair.alice.pk)
    decide(operation_id, pair.ana.pk)
    with pytest.raises(IntegrityError, match="decision_once_per_person"):
        force("approvals_decision", "UPDATE approvals_decision SET person_id = %s", [pair.alice.pk])


def test_one_no_outweighs_a_quorum(pair: World) -> None:
    operation_id = pair.prepare()
    run("UPDATE operations_agent SET owner_id = %s WHERE id = %s", [pair.admin.pk, pair.agent.pk])
    decide(operation_id, pair.alice.pk)
    decide(operation_id, pair.ana.pk)
    decide(operation_id, pair.otto.pk, "reject")
    assert_refused("permit_needs_quorum", GRANT.format(**HONEST), {"id": operation_id})


FORGED = {
    "for another hash": {"hash": f"'{OTHER_HASH}'"},
    "for another policy": {"policy": "'payments.create-v9'"},
    "longer than its round": {"expires": "r.expires_at + interval '1 us'"},
    "of a round that never was": {"number": "r.number + 1"},
    "revoked from the start": {"revoked": "clock_timestamp()"},
}


@pytest.mark.parametrize("how", FORGED)
def test_a_permit_that_its_round_does_not_cover_is_refused(world: World, how: str) -> None:
    operation_id = world.prepare()
    decide(operation_id, world.alice.pk)
    assert_refused("permit_needs_quorum", GRANT.format(**HONEST | FORGED[how]), {"id": operation_id})


def test_the_answers_about_one_operation_permit_no_other(world: World) -> None:
    approved, other = world.prepare(), world.prepare()
    decide(approved, world.alice.pk)
    assert_refused("permit_needs_quorum", GRANT.format(**HONEST), {"id": other})


@pytest.mark.parametrize(
    "change",
    ["expires_at = expires_at + interval '1 day'", f"payload_hash = '{OTHER_HASH}'", "policy_version = 'x-v2'",
     "round_number = 2", "granted_by = '[]'", "granted_at = now()"],
)  # fmt: skip
def test_a_permit_never_changes(world: World, change: str) -> None:
    world.approved()
    assert_refused("permit_only_revoked", f"UPDATE operations_permit SET {change}")


def test_a_revoked_permit_stays_revoked(world: World) -> None:
    world.approved()
    run("UPDATE operations_permit SET revoked_at = clock_timestamp()")
    assert_refused("permit_only_revoked", "UPDATE operations_permit SET revoked_at = NULL")


def test_an_operation_has_one_live_permit(world: World) -> None:
    operation_id = world.approved()
    with pytest.raises(IntegrityError, match="permit_one_live"):
        force("operations_permit", GRANT.format(**HONEST | {"number": "9"}), {"id": operation_id})


def test_an_approver_may_decide_and_the_database_says_when(world: World) -> None:
    operation_id = world.prepare()
    decide(operation_id, world.alice.pk)
    assert one("SELECT decided_at <= clock_timestamp() FROM approvals_decision")


@pytest.mark.parametrize("person", ["oscar", "audrey", "admin"])
def test_somebody_who_is_no_approver_decides_nothing(world: World, person: str) -> None:
    assert_decision_refused("decision_by_right", world.prepare(), getattr(world, person).pk)


def test_the_owner_of_the_agent_decides_nothing_unless_the_policy_says_so(world: World) -> None:
    assert_decision_refused("decision_by_right", world.prepare(), world.otto.pk)
    force("operations_policy", "UPDATE operations_policy SET owner_may_approve = true")
    decide(world.prepare(), world.otto.pk)


def test_an_approver_of_another_tenant_decides_nothing(world: World) -> None:
    stranger = make_world().alice
    assert_decision_refused("decision_by_right", world.prepare(), stranger.pk)


def test_an_approver_who_left_decides_nothing(world: World) -> None:
    operation_id = world.prepare()
    run("UPDATE operations_user SET is_active = false WHERE id = %s", [world.alice.pk])
    assert_decision_refused("decision_by_right", operation_id, world.alice.pk)
    run("DELETE FROM operations_membership WHERE user_id = %s", [world.ana.pk])
    assert_decision_refused("decision_by_right", operation_id, world.ana.pk)


def test_a_superuser_has_no_right_of_approval(world: World) -> None:
    run("UPDATE operations_user SET is_superuser = true WHERE id = %s", [world.audrey.pk])
    assert_decision_refused("decision_by_right", world.prepare(), world.audrey.pk)


def test_a_decision_at_the_end_of_the_time_is_too_late(world: World) -> None:
    operation_id = world.prepare()
    force("approvals_approvalround", "UPDATE approvals_approvalround SET expires_at = clock_timestamp()")
    assert_decision_refused("decision_in_time", operation_id, world.alice.pk)
    assert_decision_refused("decision_in_time", operation_id, world.alice.pk, "reject")


@pytest.mark.parametrize("status", ["approved", "rejected", "expired", "withdrawn"])
def test_a_closed_round_takes_no_decision(world: World, status: str) -> None:
    operation_id = world.prepare()
    run("UPDATE approvals_approvalround SET status = %s, closed_at = clock_timestamp()", [status])
    assert_decision_refused("decision_in_time", operation_id, world.alice.pk)


def test_a_decision_about_another_hash_is_refused(world: World) -> None:
    assert_decision_refused("decision_about_hash", world.prepare(), world.alice.pk, payload_hash=f"'{OTHER_HASH}'")


def test_a_decision_says_yes_or_no_and_a_no_says_why(world: World) -> None:
    operation_id = world.prepare()
    assert_decision_refused("decision_verdict_known", operation_id, world.alice.pk, "perhaps")
    silent = DECIDE.format(hash="r.payload_hash").replace("'Because.'", "''")
    parameters = {"id": operation_id, "person": world.alice.pk, "verdict": "reject"}
    assert_refused("decision_reject_says_why", silent, parameters)


ASK = """
INSERT INTO approvals_approvalround (operation_id, tenant_id, number, payload_hash, policy_version, quorum, status,
    expires_at, closed_at)
SELECT i.operation_id, i.tenant_id, 2, {hash}, {policy}, {quorum}, {status}, clock_timestamp() + interval {lasts},
    {closed}
FROM operations_intent i WHERE i.operation_id = %(id)s
"""
ASKED = {"hash": "i.payload_hash", "policy": "i.policy_version", "quorum": "1", "status": "'open'",
         "closed": "NULL::timestamptz", "lasts": "'1 h'"}  # fmt: skip


@pytest.mark.parametrize(
    "forged",
    [{"hash": f"'{OTHER_HASH}'"}, {"policy": "'payments.create-v9'"}, {"quorum": "0"}, {"lasts": "'3601 s'"},
     {"status": "'approved'", "closed": "clock_timestamp()"}],
)  # fmt: skip
def test_a_round_asks_about_its_own_hash_under_its_own_policy(world: World, forged: dict[str, str]) -> None:
    operation_id = world.prepare()
    run("UPDATE approvals_approvalround SET status = 'expired', closed_at = clock_timestamp()")
    assert_refused("round_asks_own_hash", ASK.format(**ASKED | forged), {"id": operation_id})
    run(ASK.format(**ASKED), {"id": operation_id})
    assert one("SELECT count(*) FROM approvals_approvalround WHERE status = 'open'") == 1


def test_an_operation_has_one_open_round(world: World) -> None:
    assert_refused("round_one_open", ASK.format(**ASKED), {"id": world.prepare()})


def test_nobody_is_asked_about_what_has_begun(world: World) -> None:
    operation_id = world.prepare()
    run("UPDATE approvals_approvalround SET status = 'withdrawn', closed_at = clock_timestamp()")
    move(operation_id, "cancelled", "withdrawn", learn(operation_id, "withdrawn", source="agent"))
    assert_refused("round_asks_own_hash", ASK.format(**ASKED), {"id": operation_id})


@pytest.mark.parametrize(
    "change", ["quorum = 1", "expires_at = expires_at + interval '1 day'", f"payload_hash = '{OTHER_HASH}'"]
)
def test_a_round_never_changes_what_it_asks(pair: World, change: str) -> None:
    pair.prepare()
    assert_refused("round_only_closes", f"UPDATE approvals_approvalround SET {change}")


def test_a_closed_round_is_not_opened_again(world: World) -> None:
    world.prepare()
    run("UPDATE approvals_approvalround SET status = 'expired', closed_at = clock_timestamp()")
    assert_refused("round_only_closes", "UPDATE approvals_approvalround SET status = 'open', closed_at = NULL")
