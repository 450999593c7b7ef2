"""Who asks, and for whom: every page but the open few needs a person, their tenant and their roles of this moment."""

from collections.abc import Callable
from typing import cast

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from operations.models import Membership, Role, User
from operations.requests import ConsoleRequest

SIGN_IN = "/accounts/"  # open to everybody; who is signed in already sees the whole header
OPEN = (SIGN_IN, "/api/v1/", "/static/")
OPEN_PAGES = frozenset({"/healthz", "/readyz", "/favicon.ico"})
CHOSEN = "tenant"  # the session's key for the tenant a person of several chose last

type Answer = Callable[[HttpRequest], HttpResponse]


def console(get_response: Answer) -> Answer:
    """Give each request `tenant` and `roles`, read now, so that a right taken away is gone with the next click."""

    def answer(request: HttpRequest) -> HttpResponse:
        is_open = request.path in OPEN_PAGES or request.path.startswith(OPEN)
        if is_open and not request.path.startswith(SIGN_IN):
            return get_response(request)
        person = request.user
        if not isinstance(person, User):
            return get_response(request) if is_open else _to_sign_in(request)
        if not _admit(cast(ConsoleRequest, request), person) and not is_open:
            return render(request, "opsconsole/no_tenant.html", status=403)
        return get_response(request)

    return answer


def _admit(request: ConsoleRequest, person: User) -> bool:
    """Say for which tenant and with which roles this request comes; False when the person belongs nowhere."""
    memberships = list(
        Membership.objects.filter(user=person).select_related("tenant").order_by("tenant__name", "tenant_id")
    )
    if not memberships:
        return False
    tenants = {membership.tenant_id: membership.tenant for membership in memberships}
    tenant = tenants.get(request.session.get(CHOSEN, 0)) or next(iter(tenants.values()))
    request.tenant, request.tenants, request.clock = tenant, list(tenants.values()), None
    request.roles = frozenset(Role(item.role) for item in memberships if item.tenant_id == tenant.pk)
    return True


def _to_sign_in(request: HttpRequest) -> HttpResponse:
    """To the sign-in page and back; a POST comes back to its page by GET, so nothing is sent twice or unseen."""
    return redirect_to_login(request.get_full_path() if request.method in ("GET", "HEAD") else request.path)
