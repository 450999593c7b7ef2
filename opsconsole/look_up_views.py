"""The button *Look up now*. It stands with the wiring because only here a page may reach a provider's reading door."""

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from operations.models import Operation, Role
from operations.requests import ConsoleRequest, need_role
from opsconsole.engine.look_up_now import MayNotLookUp, look_up_now
from reconciliation.core import NOT_AN_OPERATOR


@require_POST
def look_up(request: ConsoleRequest, operation_id: str) -> HttpResponse:
    """Ask the provider now, say what it proves, and go back to the case."""
    if not Operation.objects.filter(pk=operation_id, tenant=request.tenant).exists():
        raise Http404("There is no such operation.")
    need_role(request, Role.OPERATOR, NOT_AN_OPERATOR)
    try:
        finding = look_up_now(operation_id=operation_id, tenant_id=request.tenant.pk, person=request.user)
    except MayNotLookUp as refusal:
        messages.warning(request, str(refusal))
    else:
        messages.info(request, finding.words)
    return redirect("case", operation_id=operation_id)
