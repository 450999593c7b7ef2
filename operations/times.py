"""Times as people read them: the exact one with its UTC offset in the person's zone, and how far away it is.

"Now" is always the database's clock, the one that decides; a web server whose clock is wrong shows no wrong expiry.
"""

from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from django.db import connection

from operations.models import User


@dataclass(frozen=True, kw_only=True, slots=True)
class Moment:
    """One instant on a page. `words` is how far away it is; `since` or `left` keeps the words current in a browser."""

    iso: str
    exact: str  # 1 Dec 2026 18:41:07 UTC+05:00
    line: str  # 1 Dec 18:41:07, where a heading says the offset; with it where it is another one
    short: str  # 18:41 today, or 1 Dec 18:41
    words: str  # 41 min
    since: int | None = None
    left: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Clock:
    """The database's time and the person's zone."""

    now: datetime
    zone: ZoneInfo

    def at(self, instant: datetime) -> Moment:
        """This instant in the person's zone, and its distance from now."""
        local = instant.astimezone(self.zone)
        seconds = int((instant - self.now).total_seconds())
        past = instant <= self.now
        return Moment(
            iso=local.isoformat(timespec="seconds"),
            exact=self.exact(instant),
            line=self.line(instant),
            short=self.short(instant),
            words=duration(abs(seconds)),
            since=-seconds if past else None,
            left=None if past else seconds,
        )

    def exact(self, instant: datetime) -> str:
        """Day, time to the second and offset: nothing is left to guess."""
        local = instant.astimezone(self.zone)
        return f"{local.day} {local:%b %Y %H:%M:%S} {offset_words(local)}"

    def line(self, instant: datetime) -> str:
        """For columns whose heading says the offset; an instant with another one (summer time) says it itself."""
        local = instant.astimezone(self.zone)
        year = "" if local.year == self.now.astimezone(self.zone).year else f" {local.year}"
        offset = "" if offset_words(local) == self.offset else f" {offset_words(local)}"
        return f"{local.day} {local:%b}{year} {local:%H:%M:%S}{offset}"

    def short(self, instant: datetime) -> str:
        """The time, with the day only where it is not today."""
        local, today = instant.astimezone(self.zone), self.now.astimezone(self.zone)
        if local.date() == today.date():
            return f"{local:%H:%M} today"
        year = "" if local.year == today.year else f" {local.year}"
        return f"{local.day} {local:%b}{year} {local:%H:%M}"

    @property
    def offset(self) -> str:
        """The person's offset now."""
        return offset_words(self.now.astimezone(self.zone))


def clock_for(person: User) -> Clock:
    """One reading of the database's clock, for one page."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        row = cursor.fetchone()
    assert row is not None
    return Clock(now=row[0], zone=ZoneInfo(person.time_zone))


def offset_words(local: datetime) -> str:
    """UTC+05:00, also for UTC itself: UTC+00:00."""
    digits = local.strftime("%z")
    return f"UTC{digits[:3]}:{digits[3:5]}"


def duration(seconds: float) -> str:
    """A length of time in two units at most: 40 s, 41 min, 2 h 14 min, 3 d 4 h."""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole} s"
    minutes = whole // 60
    if minutes < 60:
        return f"{minutes} min"
    hours = minutes // 60
    if hours < 48:
        return f"{hours} h {minutes % 60} min" if minutes % 60 else f"{hours} h"
    return f"{hours // 24} d {hours % 24} h" if hours % 24 else f"{hours // 24} d"
