"""What an answer to a read proves: every way x statuses x bodies, then arbitrary bodies."""

from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operations.core.contract import MISSING, Contract, LookUpWay, Match, dig
from operations.core.outcomes import Answer, Finding, Phase, Verdict, judge_look_up
from operations.core.render import Expected, expected
from tests.core.samples import deal_object, deal_values, deals, payment_object, payment_values, payments
from tests.core.test_judge import BODIES, JSON, MIXED, STATUSES, fields_equal

BY_ID, BY_REFERENCE = payments().look_ups
LAGGING = replace(BY_REFERENCE, consistency="eventual", proves_absence=False)
BARE_LIST = replace(BY_REFERENCE, items="", complete={})
NOT_FOUND = replace(BY_ID, proves_absence=True)
WAYS = [
    (payments(), BY_ID),
    (payments(), BY_REFERENCE),
    (payments(), LAGGING),
    (payments(), BARE_LIST),
    (payments(), NOT_FOUND),
    (deals(), deals().look_ups[0]),
]
VALUES = {"payments.create": payment_values(), "crm.update_deal": deal_values()}
OTHERS = payment_object(id="pay_2", reference="op_other")
LISTED: list[Any] = [
    [],
    [payment_object()],
    [OTHERS],
    [OTHERS, payment_object()],
    [payment_object(), payment_object(id="pay_2")],
    [payment_object(amount=1)],
    [payment_object(status="failed")],
    [{"id": "pay_3"}],
    [5],
    {},
    None,
]
MORE: list[Any] = [False, True, 0, None]
LISTS: list[Any] = [{"data": data, "has_more": more} for data, more in product(LISTED, MORE)]
NOT_THERE = {"error": {"type": "not_found"}}


def wanted_by(contract: Contract) -> Expected:
    return expected(contract, VALUES[contract.action])


def check(contract: Contract, way: LookUpWay, answer: Answer) -> Finding:
    """Every promise about one finding."""
    wanted = wanted_by(contract)
    finding = judge_look_up(contract, way, wanted, answer)
    found = dig(answer.body, way.items)
    objects = found if way.items and isinstance(found, list) else [answer.body]
    ours = [item for item in objects if all(dig(item, name) == value for name, value in wanted.ours.items())]
    match finding.verdict:
        case Verdict.ABSENT if finding.reason == "still_base_version":
            assert dig(answer.body, "version") == wanted.base_version
        case Verdict.ABSENT:
            assert way.proves_absence and way.consistency == "immediate" and not (way.items and ours)
            assert answer.status in (way.not_found.status if way.not_found else range(200, 300))
            if way.items:
                assert all(dig(answer.body, name) is value for name, value in way.complete.items())
        case Verdict.HAPPENED:
            assert finding.external_id and len(ours) == 1 and fields_equal(contract, wanted, ours[0])
        case Verdict.REFUSED:
            assert len(ours) == 1 and dig(ours[0], contract.object.status) in contract.object.failed
        case Verdict.SEVERAL:
            assert len(ours) > 1 and len(finding.matches) == len(ours) and not finding.external_id
        case Verdict.ACCEPTED | Verdict.DIFFERENT:
            assert finding.external_id
        case Verdict.SAYS_NOTHING | Verdict.UNREADABLE:
            pass
        case other:
            raise AssertionError(f"A read cannot prove {other}.")
    return finding


@pytest.mark.parametrize(("contract", "way"), WAYS)
def test_a_read_proves_only_what_its_way_lets_it_prove(contract: Contract, way: LookUpWay) -> None:
    for status, body in product(STATUSES, [*BODIES, *LISTS, NOT_THERE]):
        phase = Phase.WAITING if status is None else Phase.ANSWERED
        check(contract, way, Answer(phase=phase, status=status, body=body))


def verdict_of(way: LookUpWay, body: Any, status: int = 200) -> Verdict:
    return check(payments(), way, Answer(phase=Phase.ANSWERED, status=status, body=body)).verdict


def test_one_found_several_found_none_found() -> None:
    assert verdict_of(BY_REFERENCE, {"data": [OTHERS, payment_object()], "has_more": True}) is Verdict.HAPPENED
    both = [payment_object(), payment_object(id="pay_2")]
    assert verdict_of(BY_REFERENCE, {"data": both, "has_more": False}) is Verdict.SEVERAL
    assert verdict_of(BY_REFERENCE, {"data": [OTHERS], "has_more": False}) is Verdict.ABSENT


@pytest.mark.parametrize("more", [True, None, 0, "false", MISSING])
def test_an_empty_list_that_does_not_say_it_is_complete_proves_nothing(more: object) -> None:
    body = {"data": []} if more is MISSING else {"data": [], "has_more": more}
    assert verdict_of(BY_REFERENCE, body) is Verdict.SAYS_NOTHING


def test_a_way_that_lags_never_proves_absence() -> None:
    assert verdict_of(LAGGING, {"data": [], "has_more": False}) is Verdict.SAYS_NOTHING
    assert verdict_of(replace(BY_REFERENCE, proves_absence=False), {"data": [], "has_more": False}) is (
        Verdict.SAYS_NOTHING
    )


@pytest.mark.parametrize("status", [s for s in STATUSES if s is not None and not 200 <= s < 300])
def test_a_read_that_failed_is_never_not_there(status: int) -> None:
    for way in (BY_ID, BY_REFERENCE, NOT_FOUND):
        for body in (MISSING, {}, {"data": [], "has_more": False}, "Not Found"):
            assert verdict_of(way, body, status) is Verdict.UNREADABLE


def test_not_there_counts_in_the_documented_shape_only_and_where_the_way_proves_it() -> None:
    assert verdict_of(NOT_FOUND, NOT_THERE, 404) is Verdict.ABSENT
    assert verdict_of(BY_ID, NOT_THERE, 404) is Verdict.SAYS_NOTHING
    assert verdict_of(NOT_FOUND, {"error": {"type": "no_route"}}, 404) is Verdict.UNREADABLE


def test_an_object_that_hides_whose_it_is_makes_the_list_unreadable() -> None:
    assert verdict_of(BY_REFERENCE, {"data": [{"id": "pay_3"}], "has_more": False}) is Verdict.UNREADABLE


def test_a_record_at_its_base_version_was_not_changed() -> None:
    def read(version: Any) -> Verdict:
        answer = Answer(phase=Phase.ANSWERED, status=200, body=deal_object(version=version))
        return check(deals(), deals().look_ups[0], answer).verdict

    assert read(19) is Verdict.ABSENT
    assert read(20) is Verdict.HAPPENED
    assert read(21) is Verdict.DIFFERENT, "a later version may hold somebody else's change as well"


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("7", 7), ("0", 0), ("99999999", 86_400), ("9" * 5000, 86_400), ("", None), ("soon", None), ("-1", None),
     ("٣", None), ("1.5", None)],
)  # fmt: skip
def test_retry_after_is_heard_and_bounded(header: str, seconds: int | None) -> None:
    answer = Answer(phase=Phase.ANSWERED, status=429, headers={"retry-after": header})
    assert check(payments(), BY_REFERENCE, answer).retry_after == seconds


def test_a_list_may_be_the_whole_answer() -> None:
    """Without `items` the body is the object itself; a list there is not one."""
    assert verdict_of(BARE_LIST, [payment_object()]) is Verdict.UNREADABLE
    assert verdict_of(BARE_LIST, payment_object()) is Verdict.HAPPENED


@given(
    st.sampled_from(WAYS),
    st.none() | st.sampled_from(STATUSES[1:]),
    JSON | MIXED | st.builds(lambda data, more: {"data": data, "has_more": more}, st.lists(MIXED, max_size=3), JSON),
)
def test_no_body_makes_a_read_raise_or_prove_more(
    way: tuple[Contract, LookUpWay], status: int | None, body: Any
) -> None:
    check(*way, Answer(phase=Phase.WAITING if status is None else Phase.ANSWERED, status=status, body=body))


def test_a_way_may_answer_not_found_with_any_status_it_names() -> None:
    gone = replace(NOT_FOUND, not_found=Match(status=(200,), body={"total": 0}))
    assert verdict_of(gone, {"total": 0}) is Verdict.ABSENT


def test_an_old_version_proves_nothing_where_the_reading_may_lag() -> None:
    """A cache still shows the version before our change; that is not the change's absence."""
    contract, before = deals(), Answer(phase=Phase.ANSWERED, status=200, body=deal_object(version=19, stage="offer"))
    (way,) = contract.look_ups
    lagging = replace(way, consistency="eventual", proves_absence=False)
    assert judge_look_up(contract, way, wanted_by(contract), before).verdict is Verdict.ABSENT
    finding = judge_look_up(contract, lagging, wanted_by(contract), before)
    assert (finding.verdict, finding.reason) == (Verdict.SAYS_NOTHING, "still_base_version")
