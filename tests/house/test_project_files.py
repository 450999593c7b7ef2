"""The repository stands on its own, and every dependency says why it is there."""

import re
import tomllib

from tests.house.tree import ROOT, texts

ITEM = re.compile(r'^\s*"(?P<name>[A-Za-z0-9._-]+)[^"]*",?$')
OUTSIDE = re.compile(r"\.\./sha" r"red|(?<![\w.{}$*-])/wo" r"rk/|/ho" r"me/[a-z]+/|/Us" r"ers/[a-z]+/")


def dependencies() -> list[tuple[str, str]]:
    """Every line that names a dependency, with the line above it."""
    lines = (ROOT / "pyproject.toml").read_text("utf-8").partition("[tool.uv]")[0].splitlines()
    return [(found["name"], lines[n - 1].strip()) for n, line in enumerate(lines) if (found := ITEM.match(line))]


def test_every_dependency_has_its_reason_directly_above() -> None:
    """A second package of one reason stands directly below the first."""
    named = {name for name, _ in dependencies()}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    listed = [*project["project"]["dependencies"], *(item for g in project["dependency-groups"].values() for item in g)]
    assert named == {re.split(r"[\[<>=~ ]", item)[0] for item in listed}
    runtime = {re.split(r"[\[<>=~ ]", item)[0] for item in project["project"]["dependencies"]}
    for name, above in dependencies():
        reason = above.startswith("# ") and above.endswith((".", ")")) and len(above) > 12
        second = name not in runtime and (above.startswith('"') or above.endswith("= ["))
        assert reason or second, name


def test_no_file_points_outside_the_repository() -> None:
    assert [name for name, text in texts().items() if OUTSIDE.search(text)] == []


def test_no_secret_lies_in_the_repository() -> None:
    """What looks like one in a test is built from pieces; the key of the tests' own TLS server is for 127.0.0.1."""
    secret = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----|\bsk_live_[A-Za-z0-9]{16,}|\bAKIA[A-Z0-9]{16}\b")
    found = {name for name, text in texts().items() if secret.search(text)}
    assert found <= {"tests/support/localhost.pem"}
