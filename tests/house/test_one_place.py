"""What must be done in one place is done nowhere else."""

import ast
import re

from operations.core.states import State
from tests.house.tree import calls, functions, imports, product, texts

TRANSITION = "operations/services/transition.py"
EXECUTE = "operations/services/execute/"
# The client, and the transport under it that bounds the whole call.
HTTPX = {"operations/providers/http.py", "operations/providers/bounded.py"}
# Waiting for a process or a file of another program, or for an agent's long poll, where no event can be awaited.
SLEEPS = {
    "operations/api/waiting.py": "an agent's long poll reads the state now and then, in its own request",
    "opsconsole/embedded/guard.py": "a killed process is watched until it is gone",
    "opsconsole/embedded/home.py": "another start of the demo holds the lock file",
    "opsconsole/embedded/signals.py": "a signal must be noticed while a child is awaited",
}
OUTSIDE = {
    "execute.claim",
    "execute.call",
    "execute.record",
    "claim.writer.submit",
    "reader.look_up",
    "look_up",
    "send",
}
UPDATE = re.compile(r"\bUPDATE\s+operations_operation\b(?P<rest>.*)", re.IGNORECASE | re.DOTALL)


def sets_state(text: str) -> bool:
    """Whether an SQL text sets the column `state` of an operation."""
    found = UPDATE.search(text)
    return bool(found and re.search(r"(\bSET|,)\s*state\s*=", re.split(r"\bWHERE\b", found["rest"])[0]))


def writes_state(tree: ast.Module) -> list[int]:
    """Where a module sets a state: by SQL, by an attribute, or by the ORM."""
    lines = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and sets_state(node.value):
            lines.append(node.lineno)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and node.attr == "state":
            if ast.unparse(node.value) != "self":
                lines.append(node.lineno)
        elif isinstance(node, ast.Call):
            name = ast.unparse(node.func).rpartition(".")[2]
            if name in ("update", "update_or_create") and any(word.arg == "state" for word in node.keywords):
                lines.append(node.lineno)
            if name in ("setattr", "bulk_update", "save") and "'state'" in ast.unparse(node):
                lines.append(node.lineno)
    return lines


def test_only_one_module_writes_the_state() -> None:
    assert writes_state(product()[TRANSITION])
    others = {name: writes_state(tree) for name, tree in product().items() if name != TRANSITION}
    assert {name: lines for name, lines in others.items() if lines} == {}


def test_the_scan_would_see_a_forbidden_write() -> None:
    for source in (
        "x = 'update operations_operation set reason = 1, state = 2 where id = 3'",
        "operation.state = 'x'",
        "Operation.objects.filter(pk=1).update(state='x')",
        "setattr(operation, 'state', 'x')",
        "operation.save(update_fields=['state'])",
    ):
        assert writes_state(ast.parse(source)), source
    assert not writes_state(ast.parse("q = 'UPDATE operations_operation SET next_step_at = 1 WHERE state = 2'"))


def test_no_state_is_spelled_where_the_operation_is_created_but_the_first() -> None:
    inserts = [
        text for tree in product().values() for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(text := node.value, str)
        and re.search(r"INSERT INTO operations_operation\b", text)
    ]  # fmt: skip
    assert inserts
    spelled = {state.value for state in State} - {State.NOT_STARTED.value}
    assert not any(f"'{state}'" in text for text in inserts for state in spelled)


def test_only_execute_is_handed_a_writer() -> None:
    for name, tree in product().items():
        if name.startswith((EXECUTE, "operations/providers/")):
            continue
        taken = {imported.rpartition(".")[2] for imported in imports(tree)}
        assert not taken & {"writer_for", "Writer", "HttpWriter"}, name
        assert not [call for call, _ in calls(tree) if call.endswith(".submit")], name


def holds_transaction(node: ast.AST) -> bool:
    return isinstance(node, ast.With) and any("atomic" in ast.unparse(item.context_expr) for item in node.items)


def test_nothing_outside_is_called_inside_a_transaction() -> None:
    found = []
    for name, tree in product().items():
        held: list[ast.AST] = [node for node in ast.walk(tree) if holds_transaction(node)]
        held += [f for f in functions(tree) if any("atomic" in ast.unparse(mark) for mark in f.decorator_list)]
        found += [f"{name}: {call}" for node in held for call, _ in calls(node) if call in OUTSIDE]
    assert found == []
    assert {call for tree in product().values() for call, _ in calls(tree)} >= OUTSIDE, "a name here is out of date"


def test_the_step_that_calls_knows_no_transaction() -> None:
    assert not [name for name in imports(product()[f"{EXECUTE}call.py"]) if name.startswith("django.db.transaction")]


def test_only_one_place_speaks_http_to_the_outside() -> None:
    forbidden = ("httpx", "requests", "aiohttp", "urllib3", "urllib.request", "httpcore")
    for name, tree in product().items():
        taken = [imported for imported in imports(tree) if imported.startswith(forbidden)]
        assert not taken or name in HTTPX, (name, taken)
        clients = [call for call, _ in calls(tree) if call in ("httpx.Client", "httpx.AsyncClient", "httpx.post")]
        assert not clients or name == "operations/providers/http.py"


def test_nothing_sleeps_but_what_is_listed_with_its_reason() -> None:
    sleeping = {name for name, tree in product().items() if any(call.endswith("sleep") for call, _ in calls(tree))}
    assert sleeping <= set(SLEEPS), sleeping - set(SLEEPS)


def test_nothing_is_left_to_be_done() -> None:
    marks = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")
    code = {n: t for n, t in texts().items() if n.endswith((".py", ".sql", ".html", ".js", ".css", ".toml", ".md"))}
    assert [name for name, text in code.items() if marks.search(text)] == []


def test_no_test_is_skipped_or_expected_to_fail() -> None:
    marks = re.compile(r"\bmark\.(skip|xfail)|pytest\.(skip|xfail|importorskip)|\b@?unittest\.skip")
    code = {name: text for name, text in texts().items() if name.startswith("tests/") and name.endswith(".py")}
    assert [name for name, text in code.items() if marks.search(text) and name != "tests/house/test_one_place.py"] == []
