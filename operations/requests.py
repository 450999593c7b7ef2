"""What a page's view may rely on: whose data it is and who asks, read from the database for this very request."""

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest

from operations.models import Role, Tenant, User
from operations.times import Clock, clock_for


class ConsoleRequest(HttpRequest):
    """A request after `opsconsole.middleware.console`: signed in, with a tenant and the person's roles in it."""

    user: User
    tenant: Tenant
    roles: frozenset[Role]
    tenants: list[Tenant]  # all of this person's, for switching
    clock: Clock | None


def need_role(request: ConsoleRequest, role: Role, sentence: str) -> None:
    """Answer 403 with this sentence unless the person has the role now."""
    if role not in request.roles:
        raise PermissionDenied(sentence)


def clock_of(request: ConsoleRequest) -> Clock:
    """The database's time in the person's zone, read once per request."""
    if request.clock is None:
        request.clock = clock_for(request.user)
    return request.clock
