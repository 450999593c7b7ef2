"""A durable file of JSON lines, the only form in which this process keeps anything."""

import json
import os
from pathlib import Path

from operations.providers.simulated.messages import Json


class DurableLines:
    """Rows of JSON, appended one by one. A row is on the disk when ``append`` returns. Callers hold their own lock."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a+b")
        self.loaded = self._load()

    def append(self, row: Json) -> None:
        """Write one row and wait until the disk has it."""
        self._file.write(json.dumps(row, ensure_ascii=True).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _load(self) -> list[Json]:
        self._file.seek(0)
        content = self._file.read()
        # A process killed in the middle of a write leaves a torn last line; it was never acted upon.
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):
            self._file.truncate(len(whole))
        return [json.loads(line) for line in whole.splitlines()]
