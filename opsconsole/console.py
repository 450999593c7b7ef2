"""What the head of every page shows: whose console this is, who is here, where work waits."""

from dataclasses import dataclass
from typing import Any, cast

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse

from approvals.queries import Reader, waiting_ids
from operations.requests import ConsoleRequest, clock_of
from operations.stop_queries import standing_stops
from reconciliation.queries import count_here

MANY = 99  # beyond this a number in a menu says "99+" and costs no more to count


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One entry of the menu."""

    label: str
    url: str
    count: str = ""
    current: bool = False


def console_context(request: HttpRequest) -> dict[str, Any]:
    """The header's data for every template; only `demo` and `signed_in` for somebody who has no tenant here yet."""
    demo = settings.MODE == "demo"
    if not hasattr(request, "tenant"):
        return {"console": {"demo": demo, "signed_in": False}}
    asked = cast(ConsoleRequest, request)
    return {
        "console": {
            "demo": demo,
            "signed_in": True,
            "tenant_name": asked.tenant.name,
            "person_name": asked.user.name,
            "roles": ", ".join(sorted(role.label for role in asked.roles)),
            "utc_offset": clock_of(asked).offset,
            "nav": _menu(asked),
            "stops": standing_stops(tenant_id=asked.tenant.pk),
        }
    }


def _menu(request: ConsoleRequest) -> list[Entry]:
    waiting = waiting_ids(Reader.of(request), MANY + 1)
    entries = [
        _entry(request, "Needs your decision", "decisions", len(waiting)),
        _entry(request, "Investigations", "cases", count_here(tenant_id=request.tenant.pk, most=MANY + 1)),
        _entry(request, "Operations", "operations"),
        _entry(request, "Emergency stop", "stops"),
    ]
    if len(request.tenants) > 1:
        entries.append(_entry(request, "Change organisation", "tenant"))
    return entries


def _entry(request: HttpRequest, label: str, name: str, count: int = 0) -> Entry:
    url = reverse(name)
    words = f"{MANY}+" if count > MANY else str(count or "")
    return Entry(label=label, url=url, count=words, current=request.path.startswith(url))
