"""The start page, the choice of organisation, and the two answers for machines: alive, and ready."""

from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_safe

from operations.models import Role
from operations.providers.contract_files import BadContract
from operations.providers.registry import contracts
from operations.requests import ConsoleRequest
from opsconsole.middleware import CHOSEN

FIRST_PAGE = ((Role.APPROVER, "decisions"), (Role.OPERATOR, "cases"))


@require_safe
def home(request: ConsoleRequest) -> HttpResponseRedirect:
    """Where this person's work is; whoever has no queue reads the operations."""
    for role, name in FIRST_PAGE:
        if role in request.roles:
            return redirect(name)
    return redirect("operations")


@require_http_methods(["GET", "HEAD", "POST"])
def choose_tenant(request: ConsoleRequest) -> HttpResponse:
    """Switch to another organisation of this person; anything else than one of theirs is not found."""
    if request.method == "POST":
        chosen = {str(tenant.pk): tenant for tenant in request.tenants}.get(request.POST.get("tenant", ""))
        if chosen is None:
            raise Http404("You have no organisation like this.")
        request.session[CHOSEN] = chosen.pk
        return redirect("home")
    return render(request, "opsconsole/tenants.html", {"tenants": request.tenants})


def not_here(request: HttpRequest) -> HttpResponse:
    """Sign-up, mail addresses and lost passwords are an administrator's matter; the names exist, the pages do not."""
    raise Http404("There is no such page.")


@require_GET
@never_cache
def healthz(request: HttpRequest) -> HttpResponse:
    """This process answers."""
    return HttpResponse("ok\n", content_type="text/plain")


@require_GET
@never_cache
def readyz(request: HttpRequest) -> HttpResponse:
    """200 when this process can do its work; 503 with the reason when it cannot yet."""
    reason = _not_ready()
    return HttpResponse(f"{reason or 'ready'}\n", content_type="text/plain", status=503 if reason else 200)


def _not_ready() -> str:
    try:
        executor = MigrationExecutor(connection)
        if executor.migration_plan(executor.loader.graph.leaf_nodes()):
            return "The database has migrations that are not applied."
        contracts()
    except DatabaseError:
        return "The database does not answer."
    except BadContract as problem:
        return f"A provider contract cannot be read: {problem}"
    return ""
