"""Contract files (TOML) become contracts. A contract that contradicts itself is refused, with the field's name."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from operations.core.contract import Contract
from operations.core.intent import Refused, canonical, sha256_of

_adapter = TypeAdapter(Contract)
MAX_DECIMALS: Final = 6
MAX_REASON: Final = 60  # what the tables hold; an answer that could not be recorded would stay a doubt for ever


class BadContract(ValueError):
    """The file cannot be used; the message names the file, the field and the reason."""


@dataclass(frozen=True, slots=True)
class LoadedContract:
    """A contract and the digest that goes into every intent prepared under it."""

    contract: Contract
    digest: str


def load(path: Path) -> LoadedContract:
    """Read one file; raises `BadContract`."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadContract(f"{path.name}: {error}") from None
    return from_data(data, name=path.name)


def from_data(data: Mapping[str, Any], *, name: str) -> LoadedContract:
    """Validate the parsed content of a contract file; what its digest covers is what is read, to the type."""
    try:
        raw = canonical(dict(data))
        contract = _adapter.validate_json(raw, strict=True)
    except Refused as refused:
        raise BadContract(f"{name}: {refused.field or 'the file'}: {refused.detail}") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(step) for step in first["loc"])
        raise BadContract(f"{name}: {where}: {first['msg']}") from None
    for problem in _problems(contract):
        raise BadContract(f"{name}: {problem}")
    return LoadedContract(contract, sha256_of(raw))


def _problems(contract: Contract) -> list[str]:
    problems = [*_in_outcomes(contract), *_in_look_ups(contract), *_in_numbers(contract), *_in_units(contract)]
    if not contract.request.path.startswith("/"):
        problems.append("request.path: begins with a slash; the host is a deployment setting.")
    if contract.dedupe.carrier in ("header", "body_field") and not contract.dedupe.name:
        problems.append("dedupe.name: the carrier needs a name.")
    return problems


def _in_units(contract: Contract) -> list[str]:
    """A provider that counts otherwise must be sent, and compared by, its own integer."""
    units, problems = contract.units, []
    if any(not 0 <= decimals <= MAX_DECIMALS for decimals in units.exponents.values()):
        problems.append(f"units.exponents: decimals lie between 0 and {MAX_DECIMALS}.")
    if any(step < 1 for step in units.multiples.values()):
        problems.append("units.multiples: a step is at least 1.")
    if units.exponents:
        for place, templates in (("request.body", contract.request.body), ("object.equal", contract.object.equal)):
            if "{money.provider_amount}" not in templates.values():
                problems.append(f"{place}: a provider with units of its own needs {{money.provider_amount}} here.")
    return problems


def _in_outcomes(contract: Contract) -> list[str]:
    problems = []
    for index, rule in enumerate(contract.outcomes):
        if rule.means == "refused" and not rule.when.body:
            problems.append(f"outcomes.{index}: a refusal needs the vendor's own error shape in `when.body`.")
        if not 0 < len(rule.reason) <= MAX_REASON:
            problems.append(f"outcomes.{index}.reason: a short code, of {MAX_REASON} characters at most.")
        if not rule.when.status:
            problems.append(f"outcomes.{index}: a rule needs the statuses it is about.")
    if not any(rule.means == "accepted" for rule in contract.outcomes):
        problems.append("outcomes: no rule says how acceptance looks.")
    return problems


def _in_look_ups(contract: Contract) -> list[str]:
    problems = []
    if contract.look_ups and not (contract.object.ours or contract.object.version):
        problems.append("object.ours: a look-up needs a field that tells our object from others.")
    for index, way in enumerate(contract.look_ups):
        if way.proves_absence and way.consistency != "immediate":
            problems.append(f"look_ups.{index}: a read that may lag cannot prove absence.")
        if way.way == "search" and way.proves_absence:
            problems.append(f"look_ups.{index}: search is never proof.")
        if way.not_found is not None and not way.not_found.body:
            problems.append(f"look_ups.{index}.not_found: needs the vendor's own shape; a gateway says 404 as well.")
        if not way.path.startswith("/"):
            problems.append(f"look_ups.{index}.path: begins with a slash; the host is a deployment setting.")
    if contract.absence.trusted and not any(way.proves_absence for way in contract.look_ups):
        problems.append("absence.trusted: no look-up way proves absence.")
    return problems


def _in_numbers(contract: Contract) -> list[str]:
    absence, schedule = contract.absence, contract.schedule
    least = {
        "version": (contract.version, 1),
        "absence.processing_delay": (absence.processing_delay, 0),
        "absence.agreeing_reads": (absence.agreeing_reads, 1),
        "absence.spacing": (absence.spacing, 0),
        "schedule.deadline": (schedule.deadline, 1),
        "schedule.budget": (schedule.budget, 1),
        "schedule.delays": (min(schedule.delays, default=-1), 0),
    }
    if isinstance(contract.dedupe.retention, int):
        least["dedupe.retention"] = (contract.dedupe.retention, 1)
    return [f"{name}: at least {bound}." for name, (value, bound) in least.items() if value < bound]
