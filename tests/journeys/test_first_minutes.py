"""The first five minutes of README.md, with nothing but what `make run` prints."""

from tests.support.demo import Demo, paste
from tests.support.visitor import Visitor, hidden_fields
from tests.support.waiting import wait_until

TIME_FOR_A_LEASE = 40


def test_what_the_readme_tells_of_the_first_minutes_is_true() -> None:
    with Demo() as demo, demo.sign_in("Approver") as approver, demo.sign_in("Operator") as operator:
        first, kill, fail, second = demo.curls
        good = _approved(approver, paste(first))
        _wait_for(approver, good, "Done at provider")
        paste(kill)
        paste(fail)
        bad = _approved(approver, paste(second))
        _wait_for(operator, bad, "Outcome unknown")
        assert "Outcome unknown" in operator.http.get("/investigations/").text
        pressed = _look_up_until_found(operator, bad)
        assert pressed <= 4
        posts = [request for request in demo.bank_log() if request["method"] == "POST"]
        assert [sum(name in str(request) for request in posts) for name in (good, bad)] == [1, 1]
        assert demo.interrupt() == 0
        demo.start()
        assert "started with the data of last time" in demo.said
        assert not {first, second} & set(demo.curls)
        _wait_for(operator, bad, "Done at provider")


def _approved(approver: Visitor, prepared: dict[str, str]) -> str:
    operation_id = prepared["operation_id"]
    assert prepared["execution_status"] == "not_started"
    answer = approver.post(operation_id, approver.form(operation_id), "approve")
    assert answer.status_code == 302, answer.text
    return operation_id


def _wait_for(person: Visitor, operation_id: str, words: str) -> None:
    address = f"/operations/{operation_id}/"
    wait_until(lambda: words in person.http.get(address).text, TIME_FOR_A_LEASE, what=f"{words} at {address}")


def _look_up_until_found(operator: Visitor, operation_id: str) -> int:
    """The bank fails three times at most; how often the button was pressed."""
    address = f"/investigations/{operation_id}/"
    for pressed in range(1, 6):
        fields = hidden_fields(operator.http.get(address).text)
        assert operator.http.post(f"{address}look-up", data=fields).status_code == 302
        if "Done at provider" in operator.http.get(address).text:
            return pressed
    raise AssertionError("it was not found")
