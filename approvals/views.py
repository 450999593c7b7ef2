"""Needs your decision: the queue and the decision page. Only a POST from that page decides anything."""

from urllib.parse import urlencode

from django.contrib import messages
from django.db import OperationalError
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from approvals.forms import DecisionForm
from approvals.models import Decision
from approvals.page import read_decision
from approvals.queries import (
    VIEWS,
    Decided,
    Queue,
    Reader,
    Waiting,
    count_others,
    decided,
    decided_just_now,
    waiting,
    waiting_ids,
)
from approvals.services import Answered, MayNotDecide, decide
from operations.requests import ConsoleRequest, clock_of

MANY = 99


@require_safe
def queue(request: ConsoleRequest) -> HttpResponse:
    """What waits for a decision; which part of it stands in the address and nowhere else."""
    view = request.GET.get("view", "")
    view = view if view in VIEWS else "mine"
    after, clock, reader = request.GET.get("after", ""), clock_of(request), Reader.of(request)
    page: Queue[Decided] | Queue[Waiting]
    just_now: list[Decided] = []
    if view == "decided":
        page = decided(reader, after=after, clock=clock)
    else:
        page = waiting(reader, view=view, after=after, clock=clock)
        just_now = decided_just_now(reader, clock)
    return render(
        request,
        "approvals/queue.html",
        {
            "view": view,
            "views": [(key, *words, key == view) for key, words in VIEWS.items()],
            "rows": page.rows,
            "shown": f"{len(page.rows)} on this page",
            "just_now": just_now,
            "first": f"?{urlencode({'view': view})}" if after else "",
            "next": f"?{urlencode({'view': view, 'after': page.after})}" if page.after else "",
            "others": "" if page.rows or view != "mine" else _waiting_for_others(count_others(reader, MANY + 1)),
            "is_approver": reader.is_approver,
        },
    )


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def decision(request: ConsoleRequest, operation_id: str) -> HttpResponse:
    """GET shows what is asked and changes nothing; POST takes one answer about exactly what was shown."""
    if request.method != "POST":
        return _show(request, operation_id, DecisionForm(), "", status=200)
    form = DecisionForm(request.POST)
    if not form.is_valid():
        return _show(request, operation_id, form, "", status=422)
    answer = form.cleaned_data
    try:
        answered = decide(
            operation_id=operation_id,
            tenant_id=request.tenant.pk,
            person=request.user,
            verdict=Decision.Verdict(answer["verdict"]),
            shown_hash=answer["payload_hash"],
            shown_display=answer["display_hash"],
            reason=answer["reason"],
            separate_effect=answer["separate_effect"],
        )
    except MayNotDecide as refused:
        return _show(request, operation_id, form, str(refused), status=409 if refused.late else 422)
    except OperationalError:
        page = render_to_string("approvals/unsure.html", {"again": request.path})
        return HttpResponse(page, status=503)
    messages.success(request, _what_follows(operation_id, answered))
    left = waiting_ids(Reader.of(request), 1)
    return redirect("decision", left[0]) if left else redirect("decisions")


def _show(request: ConsoleRequest, operation_id: str, form: DecisionForm, refused: str, *, status: int) -> HttpResponse:
    page = read_decision(
        tenant_id=request.tenant.pk, operation_id=operation_id, person=request.user, clock=clock_of(request)
    )
    if page is None:
        raise Http404("Nobody is asked to decide such an operation here.")
    if not form.is_bound:
        form.initial = {"payload_hash": page.payload_hash, "display_hash": page.display.digest}
    return render(
        request,
        "approvals/decision.html",
        {
            "page": page,
            "form": form,
            "refused": refused,
            "trail": [("Needs your decision", reverse("decisions"))],
        },
        status=status,
    )


def _what_follows(operation_id: str, answered: Answered) -> str:
    """What happens next, in one sentence."""
    if answered.verdict == Decision.Verdict.REJECT:
        return f"Rejected: {operation_id}. Nothing was sent; the agent and its owner can read why."
    if answered.complete:
        return f"Approved: {operation_id}. It is sent once, now; its page shows how it ends."
    return (
        f"Your approval of {operation_id} is recorded, {answered.approvals} of {answered.quorum}. "
        "Nothing is sent before the others have approved too."
    )


def _waiting_for_others(number: int) -> str:
    if number == 1:
        return "1 waits for others."
    return f"{MANY}+ wait for others." if number > MANY else f"{number} wait for others." if number else ""
