"""What an answer to a write proves: statuses x bodies x phases x contracts, then arbitrary bodies."""

from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operations.core.contract import MISSING, Contract, Match, Outcome, dig
from operations.core.outcomes import REDIRECTS, Answer, Finding, Phase, Verdict, judge
from operations.core.render import Expected, expected
from tests.core.samples import deal_object, deal_values, deals, payment_object, payment_values, payments, stateless

CONTRACTS = [
    (payments(), expected(payments(), payment_values())),
    (stateless(), expected(stateless(), payment_values())),
    (deals(), expected(deals(), deal_values())),
]
STATUSES = [None, *range(200, 206), 226, *range(300, 309), *range(400, 432), 451, 499, *range(500, 512), 599]
ERRORS = ["validation_error", "payment_declined", "authentication_error", "idempotency_error", "version_conflict"]
BODIES: list[Any] = [
    MISSING,
    None,
    True,
    5,
    "text",
    [],
    {},
    {"error": "a text"},
    {"error": {"type": None}},
    *({"error": {"type": word}} for word in [*ERRORS, "not_found", "something_new"]),
    payment_object(),
    *(payment_object(status=word) for word in ("processing", "failed", "settling", None, 1)),
    *(payment_object(id=value) for value in ("", None, True, 7, ["pay_1"], "x" * 201, "a\x00b", "\ud800")),
    *(payment_object(amount=value) for value in (1250001, True, None, "1250000")),
    payment_object(reference="op_other"),
    payment_object(direction="in"),
    {name: value for name, value in payment_object().items() if name != "currency"},
    deal_object(),
    *(deal_object(version=value) for value in (19, 21, True, None, "20")),
    deal_object(stage="offer"),
    deal_object(id="deal_443"),
]


def rule_for(contract: Contract, answer: Answer) -> Outcome | None:
    """The first rule that fits, by a second reading of the contract: only statuses and plain body conditions."""
    for rule in contract.outcomes:
        wanted = rule.when.body.items()
        found = [(dig(answer.body, path), value) for path, value in wanted]
        fits = all(here not in (MISSING, None, "", [], {}) if value == "*" else here == value for here, value in found)
        if answer.status in rule.when.status and fits:
            return rule
    return None


def fields_equal(contract: Contract, wanted: Expected, body: object) -> bool:
    pairs = [(dig(body, name), value) for name, value in (wanted.ours | wanted.equal).items()]
    if contract.object.version is not None:
        pairs.append((dig(body, "version"), 20))
    return all(type(found) is type(value) and found == value for found, value in pairs)


def check(contract: Contract, wanted: Expected, answer: Answer) -> Finding:
    """Every promise about one finding."""
    finding = judge(contract, wanted, answer)
    rule = rule_for(contract, answer)
    accepted = rule is not None and rule.means == "accepted"
    word = dig(answer.body, contract.object.status) if contract.object.status else None
    match finding.verdict:
        case Verdict.NOT_SENT:
            assert answer.phase is Phase.CONNECTING
        case Verdict.HAPPENED:
            assert accepted and finding.external_id and fields_equal(contract, wanted, answer.body)
            assert not contract.object.status or word in contract.object.succeeded
        case Verdict.ACCEPTED:
            assert accepted and finding.external_id and word in contract.object.pending
        case Verdict.REFUSED if rule is None:
            assert answer.status in REDIRECTS
        case Verdict.REFUSED:
            assert rule is not None
            assert rule.means == "refused" or (accepted and finding.external_id and word in contract.object.failed)
        case Verdict.DIFFERENT:
            assert accepted and finding.external_id and not fields_equal(contract, wanted, answer.body)
        case Verdict.SAYS_NOTHING:
            pass
        case other:
            raise AssertionError(f"An answer to a write cannot prove {other}.")
    assert (finding.verdict is Verdict.NOT_SENT) == (answer.phase is Phase.CONNECTING)
    assert finding.reason and finding.words
    return finding


@pytest.mark.parametrize(("contract", "wanted"), CONTRACTS, ids=["payments", "stateless", "deals"])
def test_an_answer_proves_only_what_the_contract_lets_it_prove(contract: Contract, wanted: Expected) -> None:
    verdicts = set()
    for status, body, phase in product(STATUSES, BODIES, Phase):
        verdicts.add(check(contract, wanted, Answer(phase=phase, status=status, body=body)).verdict)
    assert {Verdict.HAPPENED, Verdict.REFUSED, Verdict.DIFFERENT, Verdict.SAYS_NOTHING, Verdict.NOT_SENT} <= verdicts


@pytest.mark.parametrize("phase", [Phase.SENDING, Phase.WAITING, Phase.ANSWERED])
def test_a_request_that_may_have_arrived_without_an_answer_proves_nothing(phase: Phase) -> None:
    finding = check(*CONTRACTS[0], Answer(phase=phase, error="ReadTimeout"))
    assert (finding.verdict, finding.reason) == (Verdict.SAYS_NOTHING, "answer_lost")


@pytest.mark.parametrize("status", STATUSES[1:])
def test_no_status_alone_proves_anything_but_a_redirect(status: int) -> None:
    for contract, wanted in CONTRACTS:
        finding = check(contract, wanted, Answer(phase=Phase.ANSWERED, status=status))
        assert (finding.verdict is Verdict.REFUSED) == (status in REDIRECTS)


def test_true_is_not_one() -> None:
    values = payment_values() | {"payload": {"amount_minor": 1, "currency": "KZT", "recipient": "vendor_77"}}
    wanted = expected(payments(), values)
    answers = [Answer(phase=Phase.ANSWERED, status=200, body=payment_object(amount=a)) for a in (1, True)]
    assert [judge(payments(), wanted, a).verdict for a in answers] == [Verdict.HAPPENED, Verdict.DIFFERENT]


def test_nested_values_are_compared_as_json() -> None:
    shape = replace(payments().object, equal={"split": {"parts": [1, 2], "final": True}})
    contract = replace(payments(), object=shape)
    wanted = expected(contract, payment_values())
    same = {"parts": [1, 2], "final": True}
    for split, verdict in [
        (same, Verdict.HAPPENED),
        ({"parts": [1, 2, 3], "final": True}, Verdict.DIFFERENT),
        ({"parts": [True, 2], "final": True}, Verdict.DIFFERENT),
        ({"parts": [1, 2], "final": 1}, Verdict.DIFFERENT),
        ({"parts": [1, 2]}, Verdict.DIFFERENT),
        ([1, 2], Verdict.DIFFERENT),
    ]:
        answer = Answer(phase=Phase.ANSWERED, status=200, body=payment_object(split=split))
        assert judge(contract, wanted, answer).verdict is verdict, split


def test_what_evidence_keeps_is_small_and_can_be_stored() -> None:
    body = payment_object(
        amount=10**400, currency="K\x00\ud800" + "x" * 500, recipient={"deep": "\x00"}, direction=float("nan")
    )
    finding = judge(*CONTRACTS[0], Answer(phase=Phase.ANSWERED, status=200, body=body))
    assert finding.verdict is Verdict.DIFFERENT
    (shown,) = finding.matches
    assert str(shown["currency"]).startswith("K\ufffd\ufffdx")
    assert all(isinstance(value, str) and len(value) <= 200 for value in shown.values())
    assert "\x00" not in str(shown.values())


def test_rules_are_taken_in_their_order_and_may_ask_for_headers() -> None:
    busy = Outcome(when=Match(status=(409,), headers={"X-Why": "busy"}), means="unknown", reason="busy")
    closed = Outcome(when=Match(status=(409,), body={"code": ("a", "b")}), means="refused", reason="closed")
    final = Outcome(when=Match(status=(409,), body={"final": True}), means="refused", reason="final")
    contract = replace(payments(), outcomes=(busy, closed, final))

    def reason(headers: dict[str, str], body: Any) -> str:
        answer = Answer(phase=Phase.ANSWERED, status=409, headers=headers, body=body)
        return judge(contract, CONTRACTS[0][1], answer).reason

    assert reason({"x-why": "busy"}, {"code": "a"}) == "busy"
    assert reason({}, {"code": "a"}) == "closed"
    assert reason({"x-why": "other"}, {"code": "c"}) == "unlisted_answer"
    assert reason({}, {"final": True}) == "final"
    assert reason({}, {"final": 1}) == "unlisted_answer"


def test_a_change_to_a_record_without_numbered_versions_is_compared_by_its_values() -> None:
    values = deal_values() | {"payload": {"deal_id": "deal_442", "expected_version": "W/abc", "stage": "contract"}}
    wanted = expected(deals(), values)
    fresh = Answer(phase=Phase.ANSWERED, status=200, body=deal_object(version="W/def"))
    stale = replace(fresh, body=deal_object(version="W/abc"))
    assert judge(deals(), wanted, fresh).verdict is Verdict.HAPPENED
    assert judge(deals(), wanted, stale).reason == "still_base_version"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
NAMES = ["id", "object", "status", "reference", "amount", "currency", "recipient", "direction", "error", "version"]
MIXED = st.builds(lambda base, more: base | more, st.sampled_from([payment_object(), deal_object(), {}]),
                  st.dictionaries(st.sampled_from(NAMES), JSON | st.sampled_from([{"type": w} for w in ERRORS]),
                                  max_size=4))  # fmt: skip


@given(
    st.sampled_from(CONTRACTS), st.sampled_from(list(Phase)), st.none() | st.sampled_from(STATUSES[1:]), JSON | MIXED
)
def test_no_body_makes_it_raise_or_prove_more(
    contract: tuple[Contract, Expected], phase: Phase, status: int | None, body: Any
) -> None:
    check(*contract, Answer(phase=phase, status=status, body=body))
