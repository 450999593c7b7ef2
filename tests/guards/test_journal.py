"""A change of state and its entry are one thing, and the chain shows who edits the past (invariant 10)."""

import hashlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction

from approvals.services import MayNotDecide
from operations.services import execute, journal
from tests.guards.attack import assert_refused, force, learn, move, one, run, unknown
from tests.support.tenant import World, make_world

COLUMNS = ["previous_hash", "operation_id", "sequence", "at", "actor", "verb", "before", "after", "reason", "data"]
START = "sha256:" + "0" * 64


def entries(operation_id: str) -> list[dict[str, Any]]:
    names = [*COLUMNS, "hash"]
    rows = run(
        "SELECT previous_hash, operation_id, sequence::text, "
        "to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"'), actor, verb, before, after, reason, "
        "data, hash FROM operations_journalentry WHERE operation_id = %s ORDER BY sequence",
        [operation_id],
    )
    return [dict(zip(names, row, strict=True)) for row in rows]


def netstring(text: str) -> bytes:
    raw = text.encode()
    return str(len(raw)).encode() + b":" + raw + b","


def broken_links(chain: list[dict[str, Any]]) -> list[int]:
    """The recipe of the SQL, written a second time: the numbers of the entries that do not fit."""
    broken, previous = [], START
    for number, entry in enumerate(chain, 1):
        fields = ["opsconsole.journal.v1", *(entry[name] for name in COLUMNS)]
        digest = "sha256:" + hashlib.sha256(b"".join(netstring(field) for field in fields)).hexdigest()
        if (entry["previous_hash"], entry["hash"], entry["sequence"]) != (previous, digest, str(number)):
            broken.append(number)
        previous = entry["hash"]
    return broken


def test_the_chain_can_be_recomputed_without_the_database(world: World) -> None:
    operation_id = unknown(world)
    journal.write(
        operation_id=operation_id,
        tenant_id=world.tenant.pk,
        actor="Łucja 😀",
        verb="noted",
        reason="1:x,2:yz, \u20ac",
        data={"n": 1, "text": "Ж"},
    )
    chain = entries(operation_id)
    assert len(chain) >= 5 and broken_links(chain) == []
    assert chain[0]["verb"] == "prepared"


@pytest.mark.parametrize("column", ["actor", "verb", "before", "after", "reason", "data"])
def test_an_edited_entry_is_found(world: World, column: str) -> None:
    operation_id = unknown(world)
    force(
        "operations_journalentry",
        f"UPDATE operations_journalentry SET {column} = 'forged' WHERE operation_id = %s AND sequence = 2",
        [operation_id],
    )
    assert broken_links(entries(operation_id)) == [2]


def test_an_entry_that_was_taken_out_is_found(world: World) -> None:
    operation_id = unknown(world)
    force("operations_journalentry", "DELETE FROM operations_journalentry WHERE sequence = 2")
    assert 2 in broken_links(entries(operation_id))


def test_an_edited_entry_with_a_new_hash_breaks_the_next_one(world: World) -> None:
    operation_id = unknown(world)
    force(
        "operations_journalentry",
        "UPDATE operations_journalentry e SET actor = 'forged', hash = opsconsole_journal_hash("
        'jsonb_populate_record(e, \'{"actor": "forged"}\')) WHERE sequence = 2',
    )
    assert broken_links(entries(operation_id)) == [3]


def test_number_time_and_hash_are_the_databases_own(world: World) -> None:
    operation_id = world.prepare()
    run(
        "INSERT INTO operations_journalentry (operation_id, tenant_id, actor, verb, before, after, reason, data, "
        "sequence, at, previous_hash, hash) "
        "VALUES (%s, %s, 'x', 'noted', '', '', '', '{}', 77, '1999-01-01', 'sha256:1', 'sha256:2')",
        [operation_id, world.tenant.pk],
    )
    chain = entries(operation_id)
    assert broken_links(chain) == [] and not chain[-1]["at"].startswith("1999")


@pytest.mark.parametrize(
    ("event", "after", "verdict"), [("found", "succeeded", "happened"), ("found_refused", "failed", "refused"),
                                    ("found_pending", "pending", "accepted"), ("contradicted", "disputed", "several"),
                                    ("marked_disputed", "disputed", "several")]
)  # fmt: skip
def test_a_change_of_state_writes_exactly_one_entry(world: World, event: str, after: str, verdict: str) -> None:
    operation_id = unknown(world)
    before = entries(operation_id)
    fact = learn(operation_id, verdict)
    move(operation_id, after, event, fact)
    (entry,) = entries(operation_id)[len(before) :]
    assert (entry["verb"], entry["before"], entry["after"]) == (event, "unknown", after)
    assert entry["data"] == f'{{"fact":{fact}}}'


def test_what_is_no_change_of_state_writes_none(world: World) -> None:
    operation_id = world.prepare()
    before = entries(operation_id)
    run("UPDATE operations_operation SET next_step_at = clock_timestamp(), waits_for = 'operator'")
    assert entries(operation_id) == before


def test_a_change_of_state_that_is_rolled_back_leaves_no_entry(world: World) -> None:
    operation_id = unknown(world)
    before = entries(operation_id)
    with transaction.atomic():
        move(operation_id, "disputed", "contradicted", learn(operation_id, "several"))
        transaction.set_rollback(True)
    assert entries(operation_id) == before and world.state(operation_id) == "unknown"


@pytest.fixture
def full_journal(world: World) -> Iterator[World]:
    """From now on no entry can be written."""
    yield world
    run("ALTER TABLE operations_journalentry DROP CONSTRAINT IF EXISTS no_more_room")


def fill() -> None:
    run("ALTER TABLE operations_journalentry ADD CONSTRAINT no_more_room CHECK (sequence < 0) NOT VALID")


def test_when_the_journal_cannot_be_written_nothing_moves(full_journal: World) -> None:
    operation_id = unknown(full_journal)
    fact = learn(operation_id, "happened")
    fill()
    assert_refused(
        "no_more_room",
        "UPDATE operations_operation SET state = 'succeeded', last_event = 'found', fact_id = %s WHERE intent_id = %s",
        [fact, operation_id],
    )
    assert full_journal.state(operation_id) == "unknown"


COUNTS = (
    "SELECT (SELECT count(*) FROM operations_intent), (SELECT count(*) FROM operations_permit), "
    "(SELECT count(*) FROM approvals_decision), (SELECT count(*) FROM operations_attempt)"
)


@pytest.mark.parametrize("step", ["prepare", "approve", "claim"])
def test_when_the_journal_cannot_be_written_no_step_is_taken(full_journal: World, step: str) -> None:
    prepared, approved = full_journal.prepare(), full_journal.approved()
    fill()
    before = run(COUNTS)
    acts: dict[str, Callable[[], object]] = {
        "prepare": full_journal.prepare,
        "approve": lambda: full_journal.decide(prepared),
        "claim": lambda: execute.claim(operation_id=approved, worker="honest"),
    }
    with pytest.raises((IntegrityError, MayNotDecide, execute.ClaimRefused)):
        acts[step]()
    assert run(COUNTS) == before
    assert full_journal.state(prepared) == full_journal.state(approved) == "not_started"


def test_an_entry_for_another_tenant_is_refused(world: World) -> None:
    operation_id, stranger = world.prepare(), make_world()
    assert_refused(
        "journal_same_tenant",
        "INSERT INTO operations_journalentry (operation_id, tenant_id, actor, verb, before, after, reason, data, "
        "sequence, at, previous_hash, hash) VALUES (%s, %s, 'x', 'noted', '', '', '', '{}', 0, now(), '', '')",
        [operation_id, stranger.tenant.pk],
    )


def test_two_writers_of_one_journal_come_one_after_the_other(world: World) -> None:
    """The second waits for the first one's row lock, so the chain has no fork."""
    operation_id = world.prepare()
    write = (
        "INSERT INTO operations_journalentry (operation_id, tenant_id, actor, verb, before, after, reason, data, "
        "sequence, at, previous_hash, hash) VALUES (%s, %s, 'x', 'noted', '', '', '', '{}', 0, now(), '', '')"
    )
    parameters: list[str | int] = [operation_id, world.tenant.pk]
    second = connection.copy()
    try:
        with transaction.atomic():
            run(write, parameters)
            with second.cursor() as cursor:
                cursor.execute("SET lock_timeout = '50ms'")
                with pytest.raises(Exception, match="lock timeout"):
                    cursor.execute(write, parameters)
        with second.cursor() as cursor:
            cursor.execute(write, parameters)
    finally:
        second.close()
    chain = entries(operation_id)
    assert broken_links(chain) == [] and [entry["verb"] for entry in chain].count("noted") == 2


def test_a_number_of_the_journal_stands_once(world: World) -> None:
    operation_id = world.prepare()
    with pytest.raises(IntegrityError, match="journal_sequence_once"):
        force("operations_journalentry", "UPDATE operations_journalentry SET sequence = 1")
    assert one("SELECT count(*) FROM operations_journalentry WHERE operation_id = %s", [operation_id]) >= 2
