"""What happened, from the journal; the newest entries, oldest first."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from operations import words
from operations.display import visible
from operations.models import JournalEntry, Operation
from operations.story import told
from operations.times import Clock

SHOWN: Final = 40


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One entry; the names are those of parts/timeline.html."""

    at: str
    at_iso: str
    actor: str
    text: str
    detail: str
    tone: str
    anchor: str


def history_of(operation: Operation, clock: Clock) -> list[Entry]:
    """The last entries of the journal; the whole of it is on the operation's own page."""
    newest = JournalEntry.objects.filter(operation=operation, tenant_id=operation.tenant_id).order_by("-sequence")
    return [_entry(item, clock) for item in reversed(list(newest[:SHOWN]))]


def _entry(item: JournalEntry, clock: Clock) -> Entry:
    text, detail = told(item)
    return Entry(
        at=to_the_second(item.at, clock),
        at_iso=clock.at(item.at).iso,
        actor=visible(item.actor),
        text=text,
        detail=detail,
        tone=words.tone(item.after) if item.after else "info",
        anchor=f"event-{item.sequence}",
    )


def to_the_second(instant: datetime, clock: Clock) -> str:
    """The time of day in the person's zone, with the day only where it is not today."""
    local, today = instant.astimezone(clock.zone), clock.now.astimezone(clock.zone)
    return f"{local:%H:%M:%S}" if local.date() == today.date() else f"{local.day} {local:%b %H:%M:%S}"
