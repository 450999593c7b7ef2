"""The list of operations, one operation's story, and its exact bytes. Everybody of the tenant may read them."""

from urllib.parse import urlencode

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from operations.display import display_of
from operations.models import Intent, Role
from operations.queries import FILTERS, find_operations, read_intent
from operations.requests import ConsoleRequest, clock_of
from operations.story import story_of


@require_safe
def explorer(request: ConsoleRequest) -> HttpResponse:
    """All operations, newest first; what is shown stands in the address and nowhere else."""
    where, search = request.GET.get("where", ""), request.GET.get("q", "").strip()[:200]
    before = request.GET.get("before", "")
    listing = find_operations(
        tenant_id=request.tenant.pk, where=where, search=search, before=before, clock=clock_of(request)
    )
    asked = {name: value for name, value in (("where", where), ("q", search)) if value}
    older = f"?{urlencode({**asked, 'before': listing.older})}" if listing.older else ""
    return render(
        request,
        "operations/explorer.html",
        {
            "rows": listing.rows,
            "shown": f"{len(listing.rows)} on this page",
            "filters": [(key, label, key == where) for key, (label, _) in FILTERS.items()],
            "search": search,
            "filtered": bool(asked),
            "first": f"?{urlencode(asked)}" if before else "",
            "older": older,
        },
    )


@require_safe
def operation(request: ConsoleRequest, operation_id: str) -> HttpResponse:
    """One operation from prepare to its end."""
    clock = clock_of(request)
    story = story_of(_intent(request, operation_id), clock)
    may_decide = story.waits_for_decision and Role.APPROVER in request.roles
    return render(
        request,
        "operations/operation.html",
        {
            "story": story,
            "trail": [("Operations", reverse("operations"))],
            "evidence_title": f"Evidence, times in {clock.offset}",
            "journal_title": f"What happened, times in {clock.offset}",
            "decide_url": reverse("decision", args=[operation_id]) if may_decide else "",
            "case_url": reverse("case", args=[operation_id]) if story.investigated else "",
        },
    )


@require_safe
def raw(request: ConsoleRequest, operation_id: str) -> HttpResponse:
    """The canonical form as text, hidden characters as escapes."""
    intent = _intent(request, operation_id)
    return render(
        request,
        "operations/raw.html",
        {
            "operation_id": operation_id,
            "display": display_of(intent),
            "digits": intent.payload_hash.removeprefix("sha256:"),
            "note": f"{len(bytes(intent.canonical))} bytes, RFC 8785, UTF-8",
            "trail": [
                ("Operations", reverse("operations")),
                (operation_id, reverse("operation", args=[operation_id])),
            ],
        },
    )


@require_safe
def exact_bytes(request: ConsoleRequest, operation_id: str) -> HttpResponse:
    """The stored bytes, not one more and not one less; their sha256 is the fingerprint."""
    intent = _intent(request, operation_id)
    return HttpResponse(
        bytes(intent.canonical),
        content_type="application/json",
        headers={"Content-Disposition": f'attachment; filename="{operation_id}.json"'},
    )


def _intent(request: ConsoleRequest, operation_id: str) -> Intent:
    intent = read_intent(tenant_id=request.tenant.pk, operation_id=operation_id)
    if intent is None:
        raise Http404("There is no such operation here.")
    return intent
