"""ARCHITECTURE.md says what is so: its table of states is the code's, its invariants name what holds them."""

import re

import pytest
from django.db import connection

from tests.house.named_tests import exists, named, table_rows
from tests.house.state_table import BEGIN, END, section
from tests.house.tree import ROOT, product, texts

INVARIANTS = "| n | rule | where the database holds it | test |"


def document() -> str:
    return (ROOT / "ARCHITECTURE.md").read_text("utf-8")


def test_the_table_and_the_diagram_of_states_are_the_codes() -> None:
    """`python -m tests.house.state_table` prints what belongs there."""
    _, _, rest = document().partition(BEGIN)
    shown, _, _ = rest.partition(END)
    assert shown.strip() == section()


def test_every_invariant_stands_in_the_table() -> None:
    numbers = [row[0] for row in table_rows("ARCHITECTURE.md", INVARIANTS)]
    assert numbers == [str(number) for number in range(1, 11)]


def test_every_invariant_names_a_test_that_exists() -> None:
    for number, *_, cell in table_rows("ARCHITECTURE.md", INVARIANTS):
        assert named(cell), f"invariant {number} names no test"
        for path, function in named(cell):
            assert exists(path, function), f"{path}::{function}"
        assert any(path.startswith("tests/guards/") and function for path, function in named(cell)), number


def in_the_database() -> set[str]:
    """Every trigger, function, constraint and index of ours."""
    queries = (
        "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal",
        "SELECT proname FROM pg_proc WHERE proname LIKE 'opsconsole%'",
        "SELECT conname FROM pg_constraint WHERE connamespace = 'public'::regnamespace",
        "SELECT indexname FROM pg_indexes WHERE schemaname = 'public'",
    )
    found: set[str] = set()
    with connection.cursor() as cursor:
        for query in queries:
            cursor.execute(query)
            found |= {row[0] for row in cursor.fetchall()}
    return found


@pytest.mark.usefixtures("database")
def test_every_object_that_the_table_names_is_in_the_database() -> None:
    there = in_the_database() | set(re.findall(r"CONSTRAINT = '(\w+)'", "".join(guards())))
    for number, _, cell, _ in table_rows("ARCHITECTURE.md", INVARIANTS):
        objects = [name for name in re.findall(r"`([a-z_]+)`", cell) if "_" in name]
        assert objects, f"invariant {number} names nothing in the database"
        assert [name for name in objects if name not in there] == []


def guards() -> list[str]:
    return [text for name, text in texts().items() if "/migrations/sql/" in name]


def test_every_rule_that_the_guards_name_is_attacked() -> None:
    """A guard without an attack is a guess."""
    rules = set(re.findall(r"CONSTRAINT = '(\w+)'", "".join(guards())))
    attacks = "".join(text for name, text in texts().items() if name.startswith("tests/guards/"))
    assert len(rules) > 20
    assert {rule for rule in rules if f'"{rule}"' not in attacks} == set()


def test_every_module_that_the_document_names_exists() -> None:
    modules = re.findall(r"`((?:operations|approvals|reconciliation|opsconsole)/[\w/]+\.py)`", document())
    assert [name for name in modules if name not in product()] == []
