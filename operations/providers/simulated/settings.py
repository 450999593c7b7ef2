"""How this provider behaves when nothing goes wrong."""

import dataclasses
import json
import threading
from dataclasses import dataclass
from pathlib import Path

from operations.providers.simulated import checks
from operations.providers.simulated.messages import Json

CHECKS: dict[str, checks.Check] = {
    "keys": checks.one_of("honour", "ignore", "bare_duplicate", "duplicate_with_id"),
    "store_errors": checks.one_of("all", "success"),
    "key_retention_seconds": checks.seconds,
    "search_lag_seconds": checks.seconds,
    "search_miss_every": checks.whole(0),
    "require_if_match": checks.flag,
    "ignore_if_match": checks.flag,
    "etag": checks.one_of("plain", "gzip", "weak", "none"),
    "webhook_url": checks.loopback_url,
    "webhook_secret": checks.webhook_secret,
}


@dataclass(frozen=True)
class Settings:
    """One consistent set of settings.

    ``keys``: honour (replay), ignore, bare_duplicate (409 without an id), duplicate_with_id (409 with the id).
    ``store_errors``: under ``honour``, whether a 5xx is replayed (all) or the request runs again (success).
    ``key_retention_seconds``: after that long a key is forgotten; 0 keeps it for ever.
    ``search_lag_seconds``: how far the search runs behind; ``search_miss_every``: each n-th search finds nothing.
    ``etag``: how a proxy in front spoils the version tag of a deal.
    """

    keys: str = "honour"
    store_errors: str = "all"
    key_retention_seconds: float = 0
    search_lag_seconds: float = 0
    search_miss_every: int = 0
    require_if_match: bool = False
    ignore_if_match: bool = False
    etag: str = "plain"
    webhook_url: str = ""
    webhook_secret: str = ""


class SettingsStore:
    """The settings in force. They survive a restart; ``defaults`` come from the command line."""

    def __init__(self, path: Path, *, keys: str | None) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._defaults = Settings(keys=keys or "honour")
        kept: Json = json.loads(path.read_text()) if path.exists() else {}
        self._now = dataclasses.replace(Settings(**kept), keys=keys or kept.get("keys", "honour"))

    @property
    def now(self) -> Settings:
        """The settings in force."""
        return self._now

    def change(self, values: Json) -> Settings:
        """Change some settings, or raise BadField and change none."""
        checks.demand(CHECKS, values)
        with self._lock:
            return self._keep(dataclasses.replace(self._now, **values))

    def reset(self) -> Settings:
        """Back to the settings of a first start."""
        with self._lock:
            return self._keep(self._defaults)

    def _keep(self, settings: Settings) -> Settings:
        draft = self._path.with_suffix(".new")
        draft.write_text(json.dumps(dataclasses.asdict(settings)))
        draft.replace(self._path)
        self._now = settings
        return settings
