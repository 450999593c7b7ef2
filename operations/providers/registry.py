"""Which contract holds for a connection's provider and an action. Read once per process from files."""

from functools import cache
from pathlib import Path

from django.conf import settings

from operations.core.contract import Contract
from operations.providers.contract_files import BadContract, LoadedContract, load

OWN = Path(__file__).parent


class NoContract(LookupError):
    """Nobody described how this provider carries out this action."""


@cache
def contracts() -> dict[tuple[str, str], LoadedContract]:
    """All contracts by provider and action: the product's own folders, then those of PROVIDER_CONTRACT_DIRS."""
    found: dict[tuple[str, str], LoadedContract] = {}
    paths = sorted(OWN.glob("*/*.toml"))
    for folder in settings.PROVIDER_CONTRACT_DIRS:
        if not folder.is_dir():
            raise BadContract(f"PROVIDER_CONTRACT_DIRS: {folder} is not a folder.")
        paths += sorted(folder.glob("*.toml"))
    for path in paths:
        loaded = load(path)
        key = (loaded.contract.provider, loaded.contract.action)
        if key in found:
            raise BadContract(f"{path.name}: {key[0]} already has a contract for {key[1]}.")
        found[key] = loaded
    return found


def contract_for(provider: str, action: str) -> LoadedContract:
    """The contract in force; raises `NoContract`."""
    try:
        return contracts()[provider, action]
    except KeyError:
        raise NoContract(f"No contract says how {provider} carries out {action}.") from None


def known_contract(provider: str, action: str) -> Contract | None:
    """For pages, which show what there is also where a contract has vanished or cannot be read."""
    try:
        return contract_for(provider, action).contract
    except (NoContract, BadContract):
        return None
