"""Objects that are recognised by an entry in a map which everybody at the provider fills as they like."""

from dataclasses import replace
from typing import Any

import pytest

from operations.core.outcomes import Answer, Finding, Phase, Verdict, judge_look_up
from operations.core.render import expected
from tests.core.samples import OPERATION_ID, payment_object, payment_values, payments

SHAPE = replace(payments().object, ours={"metadata.operation_id": "{operation_id}"})
CONTRACT = replace(payments(), object=SHAPE)
LIST = CONTRACT.look_ups[1]


def listed(*metadata: Any) -> Finding:
    """What a complete list of payments proves, each with this metadata."""
    data = [payment_object(id=f"pay_{number}", metadata=each) for number, each in enumerate(metadata)]
    answer = Answer(phase=Phase.ANSWERED, status=200, body={"data": data, "has_more": False})
    return judge_look_up(CONTRACT, LIST, expected(CONTRACT, payment_values()), answer)


@pytest.mark.parametrize("others", [{}, {"order": "7"}, {"operation_id": "op_other"}, {"operation_id": None}])
def test_what_others_entered_is_not_ours(others: dict[str, Any]) -> None:
    assert listed(others).verdict is Verdict.ABSENT
    found = listed(others, {"operation_id": OPERATION_ID}, others)
    assert (found.verdict, found.external_id) == (Verdict.HAPPENED, "pay_1")


@pytest.mark.parametrize("unreadable", [None, [], "", "operation_id", 7])
def test_without_the_map_nobody_can_tell(unreadable: Any) -> None:
    assert listed(unreadable).verdict is Verdict.UNREADABLE
    assert listed({"operation_id": OPERATION_ID}, unreadable).verdict is Verdict.UNREADABLE


def test_two_entries_of_ours_are_several() -> None:
    assert listed({"operation_id": OPERATION_ID}, {"operation_id": OPERATION_ID}).verdict is Verdict.SEVERAL
