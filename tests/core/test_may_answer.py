"""May this person answer this, now? Over the product of everything the question depends on."""

from datetime import timedelta
from itertools import product

from approvals.core import Asked, refusal_to_answer, refusal_to_approve
from tests.core.samples import NOW

TICK = timedelta(microseconds=1)
FLAGS = ["waiting", "shown_hash_is_current", "is_approver", "owns_agent", "owner_may_approve", "already_answered"]


def test_a_person_may_answer_exactly_when_everything_holds() -> None:
    allowed = 0
    for values in product([True, False], repeat=len(FLAGS)):
        for expires_at, closed_by in product([NOW - TICK, NOW, NOW + TICK], ["", "Already rejected by Ana."]):
            asked = Asked(expires_at=expires_at, closed_by=closed_by, **dict(zip(FLAGS, values, strict=True)))
            refusal = refusal_to_answer(asked, NOW)
            may = (
                asked.is_approver
                and not asked.already_answered
                and asked.waiting
                and expires_at > NOW
                and (asked.owner_may_approve or not asked.owns_agent)
                and asked.shown_hash_is_current
            )
            assert (refusal == "") == may
            assert may or refusal.endswith(".")
            allowed += may
    assert allowed


def asked_with(**changes: object) -> Asked:
    plain: dict[str, object] = {
        "waiting": True,
        "expires_at": NOW + TICK,
        "shown_hash_is_current": True,
        "is_approver": True,
        "owns_agent": False,
        "owner_may_approve": False,
        "already_answered": False,
    }
    return Asked(**(plain | changes))  # type: ignore[arg-type]


def test_the_last_instant_is_too_late() -> None:
    assert refusal_to_answer(asked_with(), NOW) == ""
    assert "time ran out" in refusal_to_answer(asked_with(expires_at=NOW), NOW)


def test_a_closed_round_says_who_closed_it() -> None:
    assert refusal_to_answer(asked_with(waiting=False, closed_by="Already approved by Ana."), NOW) == (
        "Already approved by Ana."
    )
    assert refusal_to_answer(asked_with(waiting=False), NOW) == "It is no longer waiting for a decision."


def test_somebody_without_the_right_learns_nothing_else() -> None:
    closed = asked_with(is_approver=False, waiting=False, closed_by="Already rejected by Ana.")
    assert refusal_to_answer(closed, NOW) == "You are not an approver here."


def test_a_suspected_duplicate_is_approved_only_as_a_separate_effect() -> None:
    twin = "the same business act as op_1"
    assert twin in refusal_to_approve(possible_duplicate=twin, separate_effect=False)
    assert refusal_to_approve(possible_duplicate=twin, separate_effect=True) == ""
    assert refusal_to_approve(possible_duplicate="", separate_effect=False) == ""
