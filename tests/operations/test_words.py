"""Every state and every reason has words, and the words answer whether anything happened outside."""

import re
from pathlib import Path

import pytest

from operations import words
from operations.core.states import FINAL, State

ROOT = Path(__file__).resolve().parents[2]
SOURCES = (
    "operations/core",
    "operations/services",
    "operations/providers",
    "approvals",
    "reconciliation",
    "opsconsole",
)
CODE = re.compile(
    r"""\breason\s*=\s*"(?P<keyword>[a-z_]+)"|Withdraw\([^)]*?,\s*"(?P<withdraw>[a-z_]+)"\)"""
    r"""|,\s*"(?P<pair>happened|accepted|refused_later)",\s*"[A-Z]"""
)


def reason_codes() -> dict[str, str]:
    """Each reason code written in the sources and the contract files, and one file that writes it."""
    found: dict[str, str] = {}
    for folder in SOURCES:
        for file in sorted((ROOT / folder).rglob("*")):
            if file.suffix in (".py", ".toml") and "migrations" not in file.parts:
                for match in CODE.finditer(file.read_text()):
                    found[next(code for code in match.groups() if code)] = str(file.relative_to(ROOT))
    return found


def test_every_reason_code_has_a_sentence_of_its_own() -> None:
    codes = reason_codes()
    assert len(codes) > 25, "the search finds what it looks for"
    assert {code: file for code, file in codes.items() if code not in words.REASONS} == {}


def test_an_unknown_code_gets_a_neutral_sentence() -> None:
    assert words.reason_sentence("brand_new") == words.NEUTRAL
    assert words.reason_sentence("") == ""


@pytest.mark.parametrize(
    ("state", "approval", "more", "label", "outside"),
    [
        ("not_started", "open", {"yours": True}, "Needs your decision", "Nothing has been sent"),
        ("not_started", "open", {}, "Waiting for 1 more approver", "Nothing has been sent"),
        ("not_started", "open", {"missing": 2}, "Waiting for 2 more approvers", "Nothing has been sent"),
        ("not_started", "approved", {}, "Approved \u2013 will be sent", "Nothing has been sent"),
        ("in_progress", "approved", {}, "Being sent now", "May have been sent \u2013 do not repeat"),
        ("unknown", "approved", {}, "Outcome unknown", "May have been sent \u2013 do not repeat"),
        ("succeeded", "approved", {}, "Done at provider", "Sent once"),
        ("failed", "approved", {}, "Refused by provider", "Provider says it did not happen"),
        ("cancelled", "expired", {"reason": "approval_expired"}, "Expired", "Nothing has been sent"),
        ("cancelled", "withdrawn", {"reason": "cancelled_by_agent"}, "Withdrawn", "Nothing has been sent"),
        ("cancelled", "", {"reason": "replaced", "replaced_by": "op_2"}, "Replaced by op_2", "Nothing has been sent"),
        ("disputed", "approved", {}, "Under investigation", "See resolution record"),
    ],
)
def test_the_words_people_read(state: str, approval: str, more: dict[str, object], label: str, outside: str) -> None:
    assert words.label(state, approval, **more) == label  # type: ignore[arg-type]
    assert words.outside(state, reason=str(more.get("reason", ""))) == outside


def test_a_look_up_and_a_reference_are_named_where_known() -> None:
    assert words.outside("unknown", next_look_up="14:25").endswith("Next look-up 14:25")
    assert words.outside("succeeded", external_id="pay_1") == "Sent once; provider reference pay_1"


def test_after_a_call_nothing_claims_that_nothing_was_sent() -> None:
    assert words.outside("not_started", reason="not_found", attempts=1) != words.NOTHING_SENT
    assert words.outside("cancelled", reason="policy_moved", attempts=1) != words.NOTHING_SENT
    assert words.outside("not_started", reason="not_sent", attempts=1) == words.NOTHING_SENT


@pytest.mark.parametrize("state", list(State))
def test_no_state_is_shown_raw_and_doubt_never_reads_as_failure(state: State) -> None:
    said = [words.label(state), words.outside(state), words.message(state)]
    assert not any("_" in text for text in said)
    assert words.tone(state) in ("needs_you", "unknown", "refused", "done", "info", "quiet")
    if state not in FINAL:
        assert not any("fail" in text.lower() or "refused" in text.lower() for text in said)
    if state in (State.IN_PROGRESS, State.PENDING, State.UNKNOWN, State.DISPUTED):
        assert "do not repeat" in words.message(state)


@pytest.mark.parametrize("approval", ["", "none", "open", "approved", "rejected", "expired", "withdrawn"])
@pytest.mark.parametrize("waits_for", ["", "approver", "operator"])
def test_a_message_is_one_sentence(approval: str, waits_for: str) -> None:
    for state in State:
        for reason in ("", *words.REASONS):
            text = words.message(state, approval, reason=reason, attempts=1, waits_for=waits_for)
            assert text.endswith(".") and ". " not in text and text[0].isupper()
