"""`decide` over the product of what it may know: about 55 000 sets of facts, and random ones across all fields."""

from collections.abc import Iterator
from dataclasses import fields, replace
from datetime import datetime, timedelta
from functools import cache
from itertools import product
from typing import Any, cast, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operations.core.contract import Autonomy
from operations.core.decide import AskApproval, Call, Command, Investigate, LookUp, Rest, Withdraw, decide
from operations.core.facts import Approval, Facts, PermitFacts
from operations.core.states import FINAL, OPEN, State
from tests.core.samples import NOW

OURS, OTHER = "sha256:" + "a" * 64, "sha256:" + "b" * 64
POLICY, NEWER = "payments.create-v1", "payments.create-v2"
TICK = timedelta(microseconds=1)
LATER, EARLIER = NOW + timedelta(minutes=5), NOW - timedelta(minutes=5)
KINDS = {"integrity", "contradiction", "manual", "resend", "unknown", "disputed", "version_conflict", "configuration"}


def permit(expires_at: datetime, payload_hash: str = OURS, policy: str = POLICY) -> PermitFacts:
    return PermitFacts(payload_hash=payload_hash, policy_version=policy, expires_at=expires_at)


PERMITS = [
    None,
    permit(LATER),
    permit(NOW + TICK),
    permit(NOW),
    permit(EARLIER),
    permit(LATER, payload_hash=OTHER),
    permit(LATER, policy=NEWER),
]
BEFORE_A_CALL: dict[str, list[Any]] = {
    "state": [State.NOT_STARTED],
    "permit": PERMITS,
    "approval": list(Approval),
    "approval_expires_at": [None, LATER, NOW],
    "attempts": [0, 1],
    "stopped": [False, True],
    "next_look_at": [None, LATER],
    "computed_hash": [OURS, OTHER],
    "policy_in_force": [POLICY, NEWER],
    "binding_intact": [True, False],
    "autonomy": list(Autonomy),
    "may_have_been_sent": [True, False],
    "refusal_to_send_again": ["", "A repeat is not recognised."],
    "says_it_is_there": [True, False],
    "case_open": [True, False],
}
AFTER_A_CALL: dict[str, list[Any]] = {
    "state": [state for state in State if state is not State.NOT_STARTED],
    "permit": [None, permit(LATER)],
    "lease_until": [None, EARLIER, NOW, LATER],
    "can_look_up": [True, False],
    "binding_intact": [True, False],
    "case_open": [True, False],
    "next_look_at": [None, NOW, LATER],
    "deadline_at": [None, NOW, LATER],
    "look_ups_used": [0, 20],
    "absence_proved": [True, False],
    "refusal_to_send_again": ["", "A repeat is not recognised."],
    "follow_up": ["", "version_conflict"],
}
PLAIN = Facts(
    state=State.NOT_STARTED,
    stored_hash=OURS,
    computed_hash=OURS,
    policy_version=POLICY,
    policy_in_force=POLICY,
    binding_intact=True,
    autonomy=Autonomy.AUTOMATIC,
    can_look_up=True,
    refusal_to_send_again="",
    look_up_budget=20,
)


def product_of(domain: dict[str, list[Any]]) -> Iterator[Facts]:
    base = {field.name: getattr(PLAIN, field.name) for field in fields(PLAIN)}
    for values in product(*domain.values()):
        yield Facts(**{**base, **dict(zip(domain, values, strict=True))})


@cache
def everything() -> list[tuple[Facts, Command]]:
    """Every set of facts with its command; that none of them raises is the first thing proved."""
    return [(facts, decide(facts, NOW)) for domain in (BEFORE_A_CALL, AFTER_A_CALL) for facts in product_of(domain)]


def may_call(facts: Facts) -> bool:
    """The rule, said once more and differently: everything that must hold for a call."""
    return (
        facts.state is State.NOT_STARTED
        and facts.stored_hash == facts.computed_hash
        and facts.binding_intact
        and facts.policy_version == facts.policy_in_force
        and facts.permit is not None
        and facts.permit.payload_hash == facts.stored_hash
        and facts.permit.policy_version == facts.policy_version
        and facts.permit.expires_at > NOW
        and facts.autonomy is Autonomy.AUTOMATIC
        and not facts.says_it_is_there
        and not facts.stopped
        and not (facts.may_have_been_sent and facts.refusal_to_send_again)
        and facts.approval is not Approval.REJECTED
        and not (facts.attempts and facts.next_look_at is not None and facts.next_look_at > NOW)
    )


def test_the_product_is_as_large_as_it_should_be() -> None:
    assert len(everything()) > 50_000


def test_a_call_is_commanded_exactly_when_everything_holds() -> None:
    for facts, command in everything():
        assert isinstance(command, Call) == may_call(facts), (facts, command)


def test_what_was_begun_is_never_called_again() -> None:
    for facts, command in everything():
        if facts.state is not State.NOT_STARTED:
            assert not isinstance(command, Call | AskApproval | Withdraw), (facts, command)


def test_every_open_operation_has_a_next_step_or_a_person() -> None:
    for facts, command in everything():
        if facts.state in OPEN and isinstance(command, Rest):
            assert facts.case_open if command.until is None else command.until > NOW, (facts, command)


def test_nothing_stays_in_progress_beyond_its_lease() -> None:
    """Whatever case is open: nobody can settle what is in progress."""
    for facts, command in everything():
        if facts.state is State.IN_PROGRESS:
            under_way = facts.lease_until is not None and facts.lease_until > NOW
            assert isinstance(command, Rest) == under_way, (facts, command)


def test_what_is_finished_rests_unless_a_person_is_needed() -> None:
    for facts, command in everything():
        if facts.state in FINAL:
            assert isinstance(command, Investigate) == bool(facts.follow_up)
            assert isinstance(command, Rest) != bool(facts.follow_up)


def test_the_provider_is_read_only_in_doubt_and_only_where_it_can_be_asked() -> None:
    seen = set()
    for facts, command in everything():
        if isinstance(command, LookUp):
            seen.add(facts.state)
            assert facts.can_look_up
            assert facts.lease_until is None or facts.lease_until <= NOW or facts.state is not State.IN_PROGRESS
    assert seen == {State.IN_PROGRESS, State.PENDING, State.UNKNOWN}


def test_nobody_is_asked_twice_about_one_doubt() -> None:
    for facts, command in everything():
        if isinstance(command, Investigate):
            assert command.kind in KINDS
            assert not facts.case_open or facts.follow_up or facts.state is State.IN_PROGRESS


def test_every_command_says_why_in_a_sentence() -> None:
    for _, command in everything():
        assert command.why[0].isupper() and command.why.endswith(".")


def test_equal_facts_give_an_equal_command() -> None:
    for facts, command in everything()[::7]:
        assert decide(replace(facts), NOW) == command


def test_every_kind_of_command_occurs() -> None:
    assert {type(command) for _, command in everything()} == set(get_args(Command.__value__))


def test_the_last_instant_of_a_permit_is_too_late() -> None:
    facts = replace(PLAIN, approval=Approval.APPROVED, permit=permit(LATER))
    assert isinstance(decide(facts, LATER - TICK), Call)
    assert decide(facts, LATER) == Withdraw("Its approval time ran out before anything was sent.", "approval_expired")


def test_after_a_proved_absence_an_expired_approval_is_asked_for_anew() -> None:
    facts = replace(PLAIN, approval=Approval.APPROVED, permit=permit(NOW), may_have_been_sent=True)
    assert isinstance(decide(facts, NOW), AskApproval)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"policy_in_force": NEWER}, "policy_moved"),
        ({"binding_intact": False}, "connection_moved"),
        ({"approval": Approval.REJECTED}, "rejected"),
    ],
)
def test_ground_that_moved_withdraws_what_was_not_sent(change: dict[str, Any], reason: str) -> None:
    command = decide(replace(PLAIN, permit=permit(LATER), **change), NOW)
    assert isinstance(command, Withdraw) and command.reason == reason


def test_bytes_that_changed_come_before_every_other_trouble() -> None:
    facts = replace(PLAIN, computed_hash=OTHER, binding_intact=False, policy_in_force=NEWER, says_it_is_there=True)
    command = decide(facts, NOW)
    assert isinstance(command, Investigate) and command.kind == "integrity"


def test_time_alone_never_ends_a_doubt() -> None:
    facts = replace(PLAIN, state=State.UNKNOWN, deadline_at=NOW, next_look_at=NOW)
    for days in (0, 1, 400, 40_000):
        assert isinstance(decide(facts, NOW + timedelta(days=days)), Investigate)
        assert isinstance(decide(replace(facts, case_open=True), NOW + timedelta(days=days)), LookUp)


def test_a_state_that_nobody_thought_of_fails_loudly() -> None:
    """Leaving one out of the `match` fails in mypy; a value from nowhere must not pass as "nothing to do"."""
    with pytest.raises(AssertionError):
        decide(replace(PLAIN, state=cast(State, "nowhere")), NOW)


def any_of(values: list[Any]) -> st.SearchStrategy[Any]:
    return st.sampled_from(values)


TIMES = any_of([None, EARLIER, NOW - TICK, NOW, NOW + TICK, LATER])


@given(
    st.builds(
        Facts,
        state=any_of(list(State)),
        stored_hash=any_of([OURS, OTHER]),
        computed_hash=any_of([OURS, OTHER]),
        policy_version=any_of([POLICY, NEWER]),
        policy_in_force=any_of([POLICY, NEWER]),
        binding_intact=st.booleans(),
        autonomy=any_of(list(Autonomy)),
        can_look_up=st.booleans(),
        refusal_to_send_again=any_of(["", "A repeat is not recognised."]),
        approval=any_of(list(Approval)),
        approval_expires_at=TIMES,
        permit=any_of(PERMITS),
        attempts=st.integers(0, 3),
        may_have_been_sent=st.booleans(),
        lease_until=TIMES,
        next_look_at=TIMES,
        deadline_at=TIMES,
        look_ups_used=st.integers(0, 30),
        look_up_budget=st.integers(0, 20),
        absence_proved=st.booleans(),
        case_open=st.booleans(),
        stopped=st.booleans(),
        says_it_is_there=st.booleans(),
        follow_up=any_of(["", "version_conflict"]),
    )
)
def test_no_other_fact_can_bring_about_a_call(facts: Facts) -> None:
    command = decide(facts, NOW)
    assert isinstance(command, Call) == may_call(facts)
    if facts.state in OPEN and isinstance(command, Rest):
        assert facts.case_open if command.until is None else command.until > NOW
