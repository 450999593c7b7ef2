"""Faults of the simulated provider that are about bytes: bad bodies, cut connections, a caller that dies."""

import gzip
import http.client
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from operations.providers.simulated.bodies import KINDS
from operations.providers.simulated.catalogue import FAULTS
from tests.contract import test_simulator_faults
from tests.contract.simulated import acted_after, assert_counts, fresh_reference, pay
from tests.support.plain_http import Reply, call
from tests.support.simulator import ROOT, Simulator

SHORT = 0.3


@pytest.fixture(scope="module")
def pid_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("worker") / "worker.pid"


@pytest.fixture(scope="module")
def shared(pid_file: Path) -> Iterator[Simulator]:
    with Simulator(worker_pid_file=pid_file) as simulator:
        yield simulator


@pytest.fixture
def sim(shared: Simulator) -> Iterator[Simulator]:
    yield shared
    shared.reset()


@pytest.fixture
def reference() -> str:
    return fresh_reference()


def test_every_fault_has_a_test() -> None:
    tests = " ".join(name for name in [*globals(), *vars(test_simulator_faults)] if name.startswith("test_"))
    assert [name for name in FAULTS if name not in tests] == []
    assert list(IS_SPOILED) == list(KINDS)


# --- bodies

IS_SPOILED: dict[str, Callable[[Reply, Any], bool]] = {
    "html": lambda got, real: got.headers["content-type"] == "text/html" and got.body.startswith(b"<html>"),
    "truncated": lambda got, real: 0 < len(got.body) < 200 and got.body.startswith(b'{"id": "pay_'),
    "empty": lambda got, real: got.body == b"",
    "not_json": lambda got, real: not got.body.startswith(b"{"),
    "wrong_shape": lambda got, real: got.json() == {"result": ["ok"]},
    "other_object": lambda got, real: (
        got.json() == {**real, "id": "pay_of_somebody_else", "reference": "somebody-else"}
    ),
    "huge": lambda got, real: len(got.body) >= 10_000 and got.json().items() >= real.items(),
    "gzip_bomb": lambda got, real: len(got.body) < 2_000 and len(gzip.decompress(got.body)) >= 10_000,
    "deep": lambda got, real: got.body.count(b"[") == 50 and got.json()["id"] == real["id"],
    "duplicate_keys": lambda got, real: got.body.count(b'"id":') == 2 and got.json() == real,
}


@pytest.mark.parametrize("kind", KINDS)
def test_bad_body(sim: Simulator, reference: str, kind: str) -> None:
    sim.fault("bad_body", kind=kind, bytes=10_000, depth=50)
    answer = pay(sim, reference)
    assert answer.status == 201
    assert IS_SPOILED[kind](answer, sim.payments(reference)[0])
    assert_counts(sim, reference, posts=1, objects=1)


@pytest.mark.parametrize("kind", KINDS)
def test_bad_body_for_reads(sim: Simulator, reference: str, kind: str) -> None:
    pay(sim, reference)
    sim.fault("bad_body", kind=kind, method="GET", bytes=10_000)
    path = f"/v1/payments?reference={reference}"
    assert call(sim.url, "GET", path).body != call(sim.url, "GET", path).body


def test_bad_body_without_acting_and_with_another_status(sim: Simulator, reference: str) -> None:
    sim.fault("bad_body", kind="html", acts=False, status=200)
    assert pay(sim, reference).status == 200
    assert_counts(sim, reference, posts=1, objects=0)


# --- the wire


@pytest.mark.parametrize("acts", [True, False])
def test_close_after_half_body(sim: Simulator, reference: str, acts: bool) -> None:
    sim.fault("close_after_half_body", acts=acts)
    with pytest.raises(http.client.IncompleteRead) as cut:
        pay(sim, reference)
    assert cut.value.partial.startswith(b'{"id": "pay_')
    assert_counts(sim, reference, posts=1, objects=int(acts))


@pytest.mark.parametrize("acts", [True, False])
def test_close_after_headers(sim: Simulator, reference: str, acts: bool) -> None:
    sim.fault("close_after_headers", acts=acts)
    with pytest.raises(http.client.IncompleteRead) as cut:
        pay(sim, reference)
    assert cut.value.partial == b""
    assert_counts(sim, reference, posts=1, objects=int(acts))


@pytest.mark.parametrize("acts", [True, False])
def test_reset(sim: Simulator, reference: str, acts: bool) -> None:
    sim.fault("reset", acts=acts)
    with pytest.raises(ConnectionResetError) as reset:
        pay(sim, reference)
    # An orderly close would be RemoteDisconnected, which is a subclass.
    assert type(reset.value) is ConnectionResetError
    assert_counts(sim, reference, posts=1, objects=int(acts))


def test_drip(sim: Simulator, reference: str) -> None:
    sim.fault("drip", seconds=1)
    start = time.monotonic()
    # Each piece comes within the time-out; the whole answer does not.
    assert pay(sim, reference, timeout=0.9).status == 201
    assert time.monotonic() - start >= 1
    assert_counts(sim, reference, posts=1, objects=1)


# --- the caller dies


def caller(sim: Simulator, reference: str) -> "subprocess.Popen[bytes]":
    script = (
        "import sys; from tests.support.plain_http import call; sys.stdin.readline(); "
        "call(sys.argv[1], 'POST', '/v1/payments', "
        "{'amount': 5, 'currency': 'KZT', 'recipient': 'A', 'reference': sys.argv[2]})"
    )
    command = [sys.executable, "-c", script, sim.url, reference]
    return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE)


def run_to_death(child: "subprocess.Popen[bytes]") -> int:
    child.communicate(b"go\n", timeout=20)
    return child.returncode


@pytest.mark.parametrize(("when", "objects"), [("before_acting", 0), ("after_acting", 1)])
@pytest.mark.parametrize("by_file", [True, False])
def test_kill_caller(sim: Simulator, reference: str, pid_file: Path, when: str, objects: int, by_file: bool) -> None:
    child = caller(sim, reference)
    pid_file.write_text(f"{child.pid}\n" if by_file else "")
    sim.fault("kill_caller", when=when, **({} if by_file else {"pid": child.pid}))
    assert run_to_death(child) == -9
    assert_counts(sim, reference, posts=1, objects=objects)


def test_kill_caller_whose_request_is_still_on_its_way(sim: Simulator, reference: str, pid_file: Path) -> None:
    child = caller(sim, reference)
    pid_file.write_text(str(child.pid))
    sim.fault("kill_caller", when="before_acting", seconds=SHORT)
    assert run_to_death(child) == -9
    [payment] = sim.wait_for_payments(1, reference)
    assert acted_after(sim, payment) >= SHORT
    assert_counts(sim, reference, posts=1, objects=1)
