"""Contract files: read strictly, refused with the field's name, and one digest for one content."""

import copy
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from operations.core.contract import autonomy
from operations.providers import registry
from operations.providers.contract_files import BadContract, from_data, load
from operations.providers.registry import OWN, NoContract, contract_for

SHIPPED = sorted([*OWN.glob("*/*.toml"), *(Path(__file__).parents[1] / "contracts").glob("*.toml")])
PAYMENTS = OWN / "simulated" / "payments_create.toml"

type Data = dict[str, Any]


@pytest.fixture
def data() -> Data:
    return tomllib.loads(PAYMENTS.read_text())


def put(data: Data, path: str, value: Any) -> Data:
    """A copy with one value set; `path` is dotted, numbers count in lists."""
    changed = copy.deepcopy(data)
    place: Any = changed
    *steps, last = path.split(".")
    for step in steps:
        place = place[int(step)] if isinstance(place, list) else place.setdefault(step, {})
    place[int(last) if isinstance(place, list) else last] = value
    return changed


def drop(data: Data, path: str) -> Data:
    changed = copy.deepcopy(data)
    place: Any = changed
    *steps, last = path.split(".")
    for step in steps:
        place = place[int(step)] if isinstance(place, list) else place[step]
    del place[int(last) if isinstance(place, list) else last]
    return changed


def refusal(data: Data) -> str:
    with pytest.raises(BadContract) as refused:
        from_data(data, name="bank.toml")
    words = str(refused.value)
    assert words.startswith("bank.toml: ")
    return words.removeprefix("bank.toml: ")


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_every_shipped_contract_loads_and_says_where_it_comes_from(path: Path) -> None:
    loaded = load(path)
    assert loaded.contract.summary.endswith(".")
    assert loaded.contract.evidence
    assert autonomy(loaded.contract) == "automatic"
    assert loaded.digest.startswith("sha256:")


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("outcomes.1.when.body", {}, "outcomes.1: a refusal needs the vendor's own error shape in `when.body`."),
        ("outcomes.4.when.status", [], "outcomes.4: a rule needs the statuses it is about."),
        ("object.ours", {}, "object.ours: a look-up needs a field that tells our object from others."),
        ("look_ups.1.consistency", "eventual", "look_ups.1: a read that may lag cannot prove absence."),
        ("look_ups.1.consistency", "bounded", "look_ups.1: a read that may lag cannot prove absence."),
        ("look_ups.1.consistency", "unknown", "look_ups.1: a read that may lag cannot prove absence."),
        ("look_ups.1.way", "search", "look_ups.1: search is never proof."),
        ("look_ups.1.proves_absence", False, "absence.trusted: no look-up way proves absence."),
        ("look_ups.1.path", "https://elsewhere.example/v1", "look_ups.1.path: begins with a slash;"),
        ("look_ups.0.not_found.body", {}, "look_ups.0.not_found: needs the vendor's own shape;"),
        ("dedupe.name", "", "dedupe.name: the carrier needs a name."),
        ("units", {"exponents": {"UGX": 2}}, "request.body: a provider with units of its own needs"),
        ("units", {"exponents": {"UGX": 9}}, "units.exponents: decimals lie between 0 and 6."),
        ("units", {"multiples": {"KWD": 0}}, "units.multiples: a step is at least 1."),
        ("request.path", "v1/payments", "request.path: begins with a slash;"),
        ("request.path", "https://elsewhere.example/v1", "request.path: begins with a slash;"),
        ("version", 0, "version: at least 1."),
        ("absence.processing_delay", -1, "absence.processing_delay: at least 0."),
        ("absence.agreeing_reads", 0, "absence.agreeing_reads: at least 1."),
        ("absence.spacing", -1, "absence.spacing: at least 0."),
        ("schedule.delays", [], "schedule.delays: at least 0."),
        ("schedule.delays", [0, -5], "schedule.delays: at least 0."),
        ("schedule.deadline", 0, "schedule.deadline: at least 1."),
        ("schedule.budget", 0, "schedule.budget: at least 1."),
        ("dedupe.retention", 0, "dedupe.retention: at least 1."),
    ],
)
def test_a_contract_that_contradicts_itself_is_refused(data: Data, path: str, value: Any, words: str) -> None:
    assert refusal(put(data, path, value)).startswith(words)


def test_no_rule_of_acceptance_is_refused(data: Data) -> None:
    assert refusal(drop(data, "outcomes.0")) == "outcomes: no rule says how acceptance looks."


@pytest.mark.parametrize(
    "path",
    [
        "idempotent",
        "request.retries",
        "object.unique",
        "credential.secret",
        "dedupe.ttl",
        "look_ups.1.proves_abscence",
        "look_ups.0.not_found.text",
        "absence.trust",
        "schedule.retries",
        "outcomes.0.then",
        "outcomes.0.when.statuses",
        "evidence.0.by",
    ],
)
def test_an_unknown_field_is_named(data: Data, path: str) -> None:
    """A misspelt promise must not pass as no promise."""
    words = refusal(put(data, path, True))
    assert path in words


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("absence.trusted", "yes"),
        ("absence.trusted", 1),
        ("version", "1"),
        ("schedule.budget", 20.0),
        ("schedule.budget", 1.5),
        ("dedupe.retention", "for ever"),
        ("dedupe.carrier", "cookie"),
        ("effect", "idempotent"),
        ("request.method", "GET"),
        ("outcomes.0.means", "retry"),
        ("outcomes.0.when.status", ["200"]),
        ("evidence.0.confidence", "sure"),
    ],
)
def test_a_value_of_another_kind_is_named(data: Data, path: str, value: Any) -> None:
    words = refusal(put(data, path, value))
    assert words.startswith(path)


@pytest.mark.parametrize("path", ["name", "version", "provider", "action", "effect", "summary", "request", "object"])
def test_a_missing_field_is_named(data: Data, path: str) -> None:
    assert refusal(drop(data, path)).startswith(f"{path}: ")


@pytest.mark.parametrize(
    "text",
    ["not = = toml", "\x00", 'name = "a"\nname = "b"\n', "on = 2026-12-01\n"],
    ids=["syntax", "nul", "twice", "date"],
)
def test_a_file_that_is_not_a_contract_is_refused_with_its_name(tmp_path: Path, text: str) -> None:
    path = tmp_path / "bank.toml"
    path.write_text(text)
    with pytest.raises(BadContract, match=r"^bank\.toml: "):
        load(path)
    with pytest.raises(BadContract, match=r"^gone\.toml: "):
        load(tmp_path / "gone.toml")
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(BadContract, match=r"^bank\.toml: "):
        load(path)


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if not items and path:
        yield path, value
    for key, item in items:
        if "." not in str(key):
            yield from leaves(item, f"{path}.{key}" if path else str(key))


def test_the_digest_changes_with_any_change(data: Data) -> None:
    """Every text, every number, every flag: whatever is edited, earlier approvals are for another contract."""
    seen = {from_data(data, name="bank.toml").digest}
    tried = 0
    for path, value in leaves(data):
        new = not value if isinstance(value, bool) else value + 1 if isinstance(value, int) else f"{value}x"
        try:
            digest = from_data(put(data, path, new), name="bank.toml").digest
        except BadContract:
            continue
        tried += 1
        assert digest not in seen, path
        seen.add(digest)
    assert tried > 60


def test_the_digest_is_of_the_content_not_of_the_spelling(data: Data, tmp_path: Path) -> None:
    path = tmp_path / "same.toml"
    path.write_text("# Another comment.\n" + PAYMENTS.read_text().replace(" = ", "   =   "))
    assert load(path).digest == load(PAYMENTS).digest
    assert from_data(dict(reversed(list(data.items()))), name="x").digest == load(PAYMENTS).digest


@pytest.fixture
def folder(tmp_path: Path, settings: Any) -> Iterator[Path]:
    """PROVIDER_CONTRACT_DIRS with one folder of this test's own."""
    settings.PROVIDER_CONTRACT_DIRS = [tmp_path]
    registry.contracts.cache_clear()
    yield tmp_path
    registry.contracts.cache_clear()


def test_two_contracts_for_one_provider_and_action_are_refused(folder: Path) -> None:
    (folder / "again.toml").write_text(PAYMENTS.read_text().replace("version = 1", "version = 2"))
    with pytest.raises(BadContract, match=r"again\.toml: simulated already has a contract for payments\.create"):
        registry.contracts()


def test_a_user_s_own_file_adds_a_provider(folder: Path) -> None:
    (folder / "mine.toml").write_text(PAYMENTS.read_text().replace('provider = "simulated"', 'provider = "mine"'))
    assert contract_for("mine", "payments.create").contract.provider == "mine"
    assert contract_for("simulated", "payments.create").contract.provider == "simulated"
    with pytest.raises(NoContract, match=r"how mine carries out mails\.send"):
        contract_for("mine", "mails.send")


def test_a_folder_that_is_not_there_is_said(folder: Path, settings: Any) -> None:
    settings.PROVIDER_CONTRACT_DIRS = [folder / "gone"]
    with pytest.raises(BadContract, match=r"PROVIDER_CONTRACT_DIRS: .*gone is not a folder"):
        registry.contracts()
