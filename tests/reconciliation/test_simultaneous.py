"""Two look-ups at the same moment are one look: their agreement proves no more than either alone."""

import threading

from django.db import connection

from operations.models import Evidence
from operations.providers import http
from tests.reconciliation.support import await_credible_absence, look, lost
from tests.support.simulator import Simulator
from tests.support.tenant import World


def test_four_simultaneous_absences_count_once(prompt: World, simulator: Simulator) -> None:
    operation_id = lost(prompt, simulator)
    await_credible_absence(operation_id)
    begin = threading.Barrier(4)

    def ask() -> None:
        begin.wait()
        look(prompt, operation_id)
        connection.close()
        http.close()

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    verdicts = Evidence.objects.filter(operation_id=operation_id, source="look_up").values_list("verdict", flat=True)
    assert list(verdicts).count("absent") == 1
    assert len(verdicts) >= 4
    assert prompt.state(operation_id) == "unknown"
    assert len(simulator.posts(reference=operation_id)) == 1
