"""The emergency stop: everybody sees it, those who work here set it, two lift it."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from operations.models import Role, Stop
from operations.requests import ConsoleRequest, clock_of
from operations.services.stops import MayNotStop, ask_to_lift, lift, set_stop
from operations.stop_forms import LiftForm, StopForm
from operations.stop_queries import all_stops, subjects

ACTING = (Role.APPROVER, Role.OPERATOR, Role.ADMINISTRATOR)
ONLY_READS = "Only approvers, operators and administrators may set or lift a stop."


@require_safe
def stops(request: ConsoleRequest) -> HttpResponse:
    """What is stopped, by whom and why, and what was."""
    return _page(request, StopForm(subjects(tenant_id=request.tenant.pk)))


@require_POST
def set_one(request: ConsoleRequest) -> HttpResponse:
    """Stop at once; there is no second question."""
    form = StopForm(subjects(tenant_id=request.tenant.pk), request.POST)
    if not form.is_valid():
        return _page(request, form, status=422)
    try:
        set_stop(
            tenant_id=request.tenant.pk,
            person=request.user,
            scope=Stop.Scope(form.scope),
            subject=form.subject,
            reason=form.cleaned_data["reason"],
        )
    except MayNotStop as refused:
        form.add_error(refused.field if refused.field == "reason" else None, str(refused))
        return _page(request, form, status=409)
    messages.success(request, "Stopped. Nothing new of it is sent; what is already under way is followed to its end.")
    return redirect("stops")


@require_POST
def lift_one(request: ConsoleRequest, stop_id: int) -> HttpResponse:
    """The first press asks, a second person's press lifts."""
    form = LiftForm(request.POST)
    form.is_valid()
    reason = form.cleaned_data.get("reason", "")
    try:
        if form.cleaned_data.get("asked"):
            lift(tenant_id=request.tenant.pk, person=request.user, stop_id=stop_id)
            messages.success(request, "Lifted. What is still approved is sent now.")
        else:
            ask_to_lift(tenant_id=request.tenant.pk, person=request.user, stop_id=stop_id, reason=reason)
            messages.success(request, "Asked. It holds until a second person agrees.")
    except MayNotStop as refused:
        blank = StopForm(subjects(tenant_id=request.tenant.pk))
        return _page(request, blank, status=409, refused=str(refused), refused_id=stop_id, reason=reason)
    return redirect("stops")


def _page(request: ConsoleRequest, form: StopForm, *, status: int = 200, **more: object) -> HttpResponse:
    rows = all_stops(tenant_id=request.tenant.pk, clock=clock_of(request))
    return render(
        request,
        "operations/stops.html",
        {
            "holding": [row for row in rows if row.lifted_at is None],
            "over": [row for row in rows if row.lifted_at is not None],
            "form": form,
            "may_not": "" if request.roles.intersection(ACTING) else ONLY_READS,
            "me": request.user.pk,
            **more,
        },
        status=status,
    )
