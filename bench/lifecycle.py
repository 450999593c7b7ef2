"""Operations per second of the guarded life cycle beside a hand-written one, on one PostgreSQL, in one run.

    python bench/lifecycle.py [--seconds 4] [--rounds 3]

Both contenders take turns (A B A B …) at 1, 8 and 32 in flight; medians are shown with the least and the most. Commits
and WAL come from PostgreSQL's own statistics. The machine may be shared and noisy, so only ratios within one run count.
The last line is `ratio: <ours / hand-written at 8 in flight>`.
"""

import argparse
import contextlib
import os
import platform
import statistics
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

IN_FLIGHT = (1, 8, 32)


@dataclass(frozen=True, slots=True)
class Measured:
    """One turn of one contender."""

    per_second: float
    commits: float
    wal: float
    cpu_ms: float


def run_for(seconds: float, threads: int, one: Callable[[], None], close: Callable[[], None]) -> tuple[int, float]:
    """How many operations `threads` threads finish in about so many seconds, and how long that really took."""
    counts = [0] * threads
    errors: list[BaseException] = []
    begin = threading.Barrier(threads + 1)
    until = [0.0]

    def work(index: int) -> None:
        try:
            one()  # warms connection and caches, and is not counted
            begin.wait()
            while time.monotonic() < until[0] and not errors:
                one()
                counts[index] += 1
        except Exception as error:  # noqa: BLE001  # shown by the main thread
            errors.append(error)
            begin.abort()
        finally:
            close()

    workers = [threading.Thread(target=work, args=(index,)) for index in range(threads)]
    for worker in workers:
        worker.start()
    until[0] = time.monotonic() + seconds + 3600
    with contextlib.suppress(threading.BrokenBarrierError):
        begin.wait()
    started = time.monotonic()
    until[0] = started + seconds
    for worker in workers:
        worker.join()
    if errors:
        raise errors[0]
    return sum(counts), time.monotonic() - started


def measure(statistics_of: Callable[[], tuple[int, int]], seconds: float, threads: int, contender: Any) -> Measured:
    """One turn, with commits and WAL bytes taken from the server before and after."""
    close = getattr(contender, "close", lambda: None)
    cpu, (commits, wal) = time.process_time(), statistics_of()
    done, took = run_for(seconds, threads, contender.run_one, close)
    after_commits, after_wal = statistics_of()
    total = done + threads  # the warm-up operations commit as well
    return Measured(
        per_second=done / took,
        commits=(after_commits - commits) / total,
        wal=(after_wal - wal) / total,
        cpu_ms=(time.process_time() - cpu) * 1000 / total,
    )


def server_statistics(url: str) -> Callable[[], tuple[int, int]]:
    """Transactions that wrote something, and WAL bytes, as the server counts them."""
    import psycopg

    def read() -> tuple[int, int]:
        with psycopg.connect(url, autocommit=True) as connection:
            row = connection.execute(
                "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint, "
                "pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint"
            ).fetchone()
        assert row is not None
        return row[0], row[1]

    return read


def show(name: str, threads: int, turns: list[Measured]) -> float:
    """One line of the table; returns the median of operations per second."""
    rates = [turn.per_second for turn in turns]
    middle = statistics.median(rates)
    print(
        f"{name:24} {threads:>3} {middle:>9.0f} {min(rates):>7.0f} {max(rates):>7.0f} "
        f"{statistics.median(turn.commits for turn in turns):>11.2f} "
        f"{statistics.median(turn.wal for turn in turns):>11.0f} "
        f"{statistics.median(turn.cpu_ms for turn in turns):>10.2f}"
    )
    return middle


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=4.0, help="length of one turn")
    parser.add_argument("--rounds", type=int, default=3, help="turns per contender and number in flight")
    options = parser.parse_args()
    contenders, statistics_of, version = set_up()
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, PostgreSQL {version}")
    print(
        f"{'':24} {'at':>3} {'median/s':>9} {'least':>7} {'most':>7} "
        f"{'commits/op':>11} {'WAL B/op':>11} {'CPU ms/op':>10}"
    )
    ratio = 0.0
    for threads in IN_FLIGHT:
        turns: list[list[Measured]] = [[] for _ in contenders]
        for _ in range(options.rounds):
            for index, contender in enumerate(contenders):
                turns[index].append(measure(statistics_of, options.seconds, threads, contender))
        medians = [show(contender.name, threads, turns[index]) for index, contender in enumerate(contenders)]
        if threads == 8:
            ratio = medians[0] / medians[1]
    print(f"ratio: {ratio:.2f}")


def set_up() -> tuple[list[Any], Callable[[], tuple[int, int]], str]:
    """Servers, schema and both contenders. DATABASE_URL points to another server."""
    from tests.servers import Servers

    servers = Servers()
    import atexit

    atexit.register(servers.stop)
    servers.start()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "opsconsole.settings")
    os.environ.setdefault("OPSCONSOLE_MODE", "test")
    os.environ.setdefault("SECRET_KEY", "bench-" + "x" * 40)
    import django

    django.setup()
    from django.core.management import call_command
    from django.db import connection

    call_command("migrate", verbosity=0, interactive=False)
    from bench.guarded import Guarded
    from bench.yardstick import Yardstick
    from operations import bell

    bell._send = lambda operation_id: None  # no broker in this measurement
    url = os.environ["DATABASE_URL"]
    contenders: list[Any] = [Guarded(), Yardstick(url)]
    for contender in contenders:
        contender.set_up()
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version")
        row = cursor.fetchone()
    connection.close()
    return contenders, server_statistics(url), str(row[0]) if row else "?"


if __name__ == "__main__":
    main()
