"""What docs/ tells those who run this can be done as it is written."""

import contextlib
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client

from operations.api.auth import KEY
from operations.providers import registry
from tests.house.tree import ROOT

SETTING = re.compile(r'\benv\.\w+\("(\w+)"')


@pytest.fixture
def acme(database: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The contract of docs/providers.md in a folder of its own, and an address for it."""
    (tmp_path / "acme.toml").write_text(block("docs/providers.md", "toml"), "utf-8")
    monkeypatch.setattr(settings, "PROVIDER_CONTRACT_DIRS", [tmp_path])
    monkeypatch.setattr(settings, "PROVIDER_TARGETS", {"bank-main": "https://api.bank.example"})
    registry.contracts.cache_clear()
    yield
    registry.contracts.cache_clear()


def block(document: str, language: str) -> str:
    """The document's one block of code in this language."""
    found = re.findall(rf"^```{language}\n(.*?)^```$", (ROOT / document).read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert len(found) == 1
    return str(found[0])


def test_the_first_organisation_and_the_example_contract_work_together(acme: None) -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(block("docs/operating.md", "python"), {})  # our own document
    key = printed.getvalue().strip()
    assert KEY.fullmatch(key)
    wish = json.loads(block("README.md", "json"))
    answer = Client(headers={"Authorization": f"Bearer {key}"}).post(
        "/api/v1/operations", data=json.dumps(wish), content_type="application/json"
    )
    assert answer.status_code == 201, answer.content
    assert answer.json()["tenant_id"] == "acme"
    person = Client()
    form = {"login": "ana@acme.example", "password": "the-first-password"}
    assert person.post("/accounts/login/", form).status_code == 302
    assert "1250000" in person.get(f"/decisions/{answer.json()['operation_id']}/").content.decode()


def test_every_setting_is_documented() -> None:
    names = set(SETTING.findall((ROOT / "opsconsole" / "settings.py").read_text("utf-8")))
    written = (ROOT / "docs" / "operating.md").read_text("utf-8")
    assert len(names) > 15
    assert {name for name in names if f"`{name}`" not in written} == set()
