"""The stops that hold, and those that held; always one tenant's."""

from dataclasses import dataclass
from typing import Any

from django.db.models import F

from operations.actions import ACTIONS
from operations.display import visible
from operations.models import Agent, Connection, Stop
from operations.times import Clock, Moment

MOST = 50


@dataclass(frozen=True, kw_only=True, slots=True)
class StandingStop:
    """A stop that holds now, for the head of every page."""

    pk: int
    what: str
    set_by: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class StopRow:
    """One stop with its whole course."""

    pk: int
    what: str
    reason: str
    set_by: str
    set_at: Moment
    lift_asked_by: str
    lift_reason: str
    lifted_by: str
    lifted_at: Moment | None
    lift_asked_by_id: int | None


def standing_stops(*, tenant_id: int) -> list[StandingStop]:
    """What holds now, oldest first."""
    stops = Stop.objects.filter(tenant_id=tenant_id, lifted_at__isnull=True).select_related("set_by").order_by("pk")
    return [
        StandingStop(pk=stop.pk, what=_what(stop), set_by=stop.set_by.name, reason=visible(stop.reason))
        for stop in stops
    ]


def all_stops(*, tenant_id: int, clock: Clock) -> list[StopRow]:
    """Those that hold first, then the newest that held."""
    stops = (
        Stop.objects.filter(tenant_id=tenant_id)
        .select_related("set_by", "lift_asked_by", "lifted_by")
        .order_by(F("lifted_at").desc(nulls_first=True), "-pk")[:MOST]
    )
    return [_row(stop, clock) for stop in stops]


def subjects(*, tenant_id: int) -> dict[str, list[str]]:
    """What can be stopped besides everything: the names in use here, by scope."""
    return {
        Stop.Scope.ACTION: sorted(ACTIONS),
        Stop.Scope.PROVIDER: sorted(
            set(Connection.objects.filter(tenant_id=tenant_id).values_list("provider", flat=True))
        ),
        Stop.Scope.AGENT: sorted(Agent.objects.filter(tenant_id=tenant_id).values_list("name", flat=True)),
    }


def _row(stop: Stop, clock: Clock) -> StopRow:
    def name(person: Any) -> str:
        return person.name if person else ""

    return StopRow(
        pk=stop.pk,
        what=_what(stop),
        reason=visible(stop.reason),
        set_by=stop.set_by.name,
        set_at=clock.at(stop.set_at),
        lift_asked_by=name(stop.lift_asked_by),
        lift_reason=visible(stop.lift_reason),
        lifted_by=name(stop.lifted_by),
        lifted_at=clock.at(stop.lifted_at) if stop.lifted_at else None,
        lift_asked_by_id=stop.lift_asked_by_id,
    )


def _what(stop: Stop) -> str:
    return "Everything" if stop.scope == Stop.Scope.TENANT else f"{Stop.Scope(stop.scope).label}, {stop.subject},"
