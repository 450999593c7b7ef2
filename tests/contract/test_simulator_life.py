"""The life of the simulated provider's process: start, stop, sudden death and return."""

import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.contract.simulated import fresh_reference, pay
from tests.support.plain_http import call
from tests.support.simulator import ROOT, Simulator, SimulatorError


@pytest.fixture(scope="module")
def shared() -> Iterator[Simulator]:
    with Simulator() as simulator:
        yield simulator


@pytest.fixture
def sim(shared: Simulator) -> Iterator[Simulator]:
    yield shared
    shared.reset()


@pytest.fixture
def reference() -> str:
    return fresh_reference()


def rows(sim: Simulator, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (sim.data / name).read_text().splitlines()]


def test_sigterm_ends_it_cleanly_even_while_an_answer_is_held(reference: str) -> None:
    with Simulator() as sim, ThreadPoolExecutor(1) as pool:
        sim.fault("hold_answer")
        held = pool.submit(pay, sim, reference)
        sim.wait_for_payments(1, reference)
        assert sim.stop() == 0
        assert isinstance(held.exception(timeout=10), ConnectionError)


def test_restart_keeps_objects_numbers_keys_settings_and_port(reference: str) -> None:
    with Simulator() as sim:
        body = {"amount": 5, "currency": "KZT", "recipient": "A", "reference": reference}
        first = call(sim.url, "POST", "/v1/payments", body, idempotency_key="k1").json()
        deal = sim.plant_deal(stage="won", amount=3, owner="Dana", version=19)
        sim.settings(require_if_match=True)
        url = sim.url
        sim.restart()
        assert sim.url == url
        assert sim.objects() == {"payments": [first], "deals": [deal]}
        assert sim.settings()["require_if_match"] is True
        again = call(sim.url, "POST", "/v1/payments", body, idempotency_key="k1")
        assert (again.json(), again.headers["idempotent-replayed"]) == (first, "true")
        assert [row["n"] for row in sim.requests()] == [1, 2]


def test_killed_while_acting_is_delayed_the_request_is_logged_and_nothing_is_stored(reference: str) -> None:
    with Simulator() as sim, ThreadPoolExecutor(1) as pool:
        sim.fault("delay_acting", seconds=60)
        lost = pool.submit(pay, sim, reference)
        sim.wait_for_requests(1, reference=reference)
        sim.kill()
        assert isinstance(lost.exception(timeout=10), ConnectionError)
        assert [row["path"] for row in rows(sim, "requests.jsonl")] == ["/v1/payments"]
        assert rows(sim, "ledger.jsonl") == []
        sim.restart()
        assert len(sim.posts(reference)) == 1
        assert sim.payments(reference) == []


def test_a_torn_last_line_is_dropped_and_the_file_stays_readable(reference: str) -> None:
    with Simulator() as sim:
        pay(sim, reference)
        sim.kill()
        with (sim.data / "requests.jsonl").open("a") as log:
            log.write('{"n": 2, "at"')
        sim.start()
        pay(sim, reference)
        assert [row["n"] for row in rows(sim, "requests.jsonl")] == [1, 2]


def test_a_second_process_may_not_use_the_same_data(sim: Simulator) -> None:
    with pytest.raises(SimulatorError, match="another simulated provider"):
        Simulator(data=sim.data).start()


def test_it_listens_on_loopback_only(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "operations.providers.simulated", "--host", "0.0.0.0", "--data", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=20, check=False)
    assert done.returncode == 2


def test_it_dies_with_its_parent(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "operations.providers.simulated", "--with-parent", "--data", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, timeout=20, check=False)
    assert (done.returncode, done.stdout[:30]) == (0, b"simulated provider listening o")


def test_it_needs_no_django() -> None:
    script = "import sys, operations.providers.simulated.__main__; sys.exit('django' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], cwd=ROOT, timeout=20, check=False).returncode == 0
