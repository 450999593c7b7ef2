"""The investigations queue, a case, and the two things an operator does with it. Everybody of the tenant may read."""

from urllib.parse import urlencode

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from operations.models import Operation, Role
from operations.requests import ConsoleRequest, clock_of, need_role
from reconciliation import words
from reconciliation.case_page import contract_of, page_of, read_operation
from reconciliation.core import NOT_AN_OPERATOR
from reconciliation.forms import ResolutionForm
from reconciliation.models import Resolution
from reconciliation.queries import PAGE, read_queue
from reconciliation.services import cases
from reconciliation.services import settle as service


@require_safe
def queue(request: ConsoleRequest) -> HttpResponse:
    """Everything in doubt, the oldest first; what is shown stands in the address and nowhere else."""
    kind, after = request.GET.get("kind", ""), request.GET.get("after", "")
    found = read_queue(tenant_id=request.tenant.pk, kind=kind, after=after, clock=clock_of(request))
    asked = {"kind": kind} if kind else {}
    return render(
        request,
        "reconciliation/queue.html",
        {
            "queue": found,
            "kind": kind,
            "first": f"?{urlencode(asked)}" if after else "",
            "next": f"?{urlencode({**asked, 'after': found.more})}" if found.more else "",
            "shown": f"Up to {PAGE} of {found.total}, the oldest first",
        },
    )


@require_safe
def case(request: ConsoleRequest, operation_id: str) -> HttpResponse:
    """One operation's case; it works before a case is open, and afterwards as well."""
    return _case_page(request, _operation(request, operation_id), None)


@require_POST
def settle(request: ConsoleRequest, operation_id: str) -> HttpResponse:
    """Take a person's word; what was typed stays on the page when it is not taken."""
    operation = _operation(request, operation_id)
    need_role(request, Role.OPERATOR, NOT_AN_OPERATOR)
    form = ResolutionForm(request.POST)
    if not form.is_valid():
        return _case_page(request, operation, form, status=422)
    said = form.cleaned_data
    word = service.Word(
        verdict=Resolution.Verdict(said["verdict"]),
        reason=said["reason"],
        evidence_reference=said["evidence_reference"],
        external_id=said["external_id"],
    )
    try:
        service.settle(
            operation_id=operation_id,
            tenant_id=request.tenant.pk,
            person=request.user,
            word=word,
            contract=contract_of(operation),
            case_id=said["case"],
            seen=said["seen"],
        )
    except service.MayNotSettle as refusal:
        return _refused(request, operation_id, form, refusal)
    messages.success(request, words.DONE[word.verdict])
    return redirect("case", operation_id=operation_id)


@require_POST
def take(request: ConsoleRequest, operation_id: str) -> HttpResponse:
    """Show the others that this person is at it."""
    _operation(request, operation_id)
    need_role(request, Role.OPERATOR, NOT_AN_OPERATOR)
    try:
        cases.take(operation_id=operation_id, tenant_id=request.tenant.pk, person=request.user)
    except cases.NotTaken as refusal:
        messages.warning(request, str(refusal))
    return redirect("case", operation_id=operation_id)


def _refused(
    request: ConsoleRequest, operation_id: str, form: ResolutionForm, refusal: service.MayNotSettle
) -> HttpResponse:
    """409 when somebody or something was quicker; then the page shows how it stands now."""
    if str(refusal) == NOT_AN_OPERATOR:
        raise PermissionDenied(NOT_AN_OPERATOR)
    if refusal.late:
        messages.error(request, str(refusal))
    else:
        form.add_error(refusal.field or None, str(refusal))
    return _case_page(request, _operation(request, operation_id), form, status=409 if refusal.late else 422)


def _operation(request: ConsoleRequest, operation_id: str) -> Operation:
    operation = read_operation(tenant_id=request.tenant.pk, operation_id=operation_id)
    if operation is None:
        raise Http404("There is no such operation here.")
    return operation


def _case_page(
    request: ConsoleRequest, operation: Operation, form: ResolutionForm | None, status: int = 200
) -> HttpResponse:
    operator = Role.OPERATOR in request.roles
    page = page_of(operation, person_id=request.user.pk, operator=operator, clock=clock_of(request))
    bound = form or ResolutionForm()
    number = f"case {page.case_id} · " if page.case_id else ""
    return render(
        request,
        "reconciliation/case.html",
        {
            "page": page,
            "form": bound,
            "chosen": bound.data.get("verdict", "") if form else "",
            "no_resolution": "" if operator else NOT_AN_OPERATOR,
            "trail": [("Investigations", reverse("cases"))],
            "here": f"{number}{operation.pk}",
        },
        status=status,
    )
