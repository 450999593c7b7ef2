"""What a provider's contract means for people: how a lost answer is cleared up, and how long a key is safe."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from operations.core.contract import Autonomy, Contract, autonomy, key_safe_until
from operations.models import Intent
from operations.providers.registry import known_contract
from operations.times import duration

WAYS: Final = {
    "by_id": "by its own id",
    "by_key": "by our key",
    "by_reference": "by our reference",
    "by_unique_property": "by a field only this operation has",
    "by_parent_list": "by the list it belongs to",
    "by_time_window": "by the list of that time",
    "search": "by its search",
}
EPOCH: Final = datetime(2000, 1, 1, tzinfo=UTC)  # any start serves: only the distance counts


@dataclass(frozen=True, kw_only=True, slots=True)
class LostAnswer:
    """What happens when the answer is lost, one sentence each; never more than the contract promises."""

    asked: str
    absence: str
    key: str

    @property
    def sentences(self) -> list[str]:
        return [sentence for sentence in (self.asked, self.absence, self.key) if sentence]


def lost_answer(intent: Intent) -> LostAnswer:
    """For this intent's provider and action, by the contract in force."""
    contract = known_contract(intent.connection.provider, intent.action)
    if contract is None:
        return LostAnswer(asked="No contract says how this provider answers, so nothing is sent.", absence="", key="")
    return LostAnswer(asked=_asked(contract), absence=_absence(contract), key=_key(contract))


def _asked(contract: Contract) -> str:
    if autonomy(contract) is Autonomy.MANUAL:
        return "The provider can neither be asked nor does it recognise repeats, so a person acts there by hand."
    if not contract.look_ups:
        return "The provider cannot be asked what became of it; a person finds out there."
    ways = list(dict.fromkeys(WAYS[way.way] for way in contract.look_ups))
    listed = ways[0] if len(ways) == 1 else f"{', '.join(ways[:-1])} or {ways[-1]}"
    return f"The provider is asked {listed} before anything is repeated."


def _absence(contract: Contract) -> str:
    if not contract.look_ups:
        return ""
    if not contract.absence.trusted:
        return "If it is not found there, that proves nothing, and a person decides."
    reads = contract.absence.agreeing_reads
    times = "one answer" if reads == 1 else f"{reads} answers in a row"
    return f"Only {times} that it is not there, long enough after the call, allow another one."


def _key(contract: Contract) -> str:
    if contract.dedupe.carrier == "none":
        return "The provider does not recognise repeats, so only a person may allow another call."
    if contract.dedupe.retention == "permanent":
        return "The provider recognises the same request for good."
    until = key_safe_until(contract, EPOCH)
    if until is None:
        return "The provider does not say how long it recognises the same key."
    return f"The same key stays safe for {duration((until - EPOCH).total_seconds())} after sending."
