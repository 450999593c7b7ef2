"""What a page's view may rely on: whose data it is and who asks, read from the database for this very request."""

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest

from operations.models import Role, Tenant, User


class ConsoleRequest(HttpRequest):
    """A request after `opsconsole.middleware.console`: signed in, with a tenant and the person's roles in it."""

    user: User
    tenant: Tenant
    roles: frozenset[Role]
    tenants: list[Tenant]  # all of this person's, for switching


def need_role(request: ConsoleRequest, role: Role, sentence: str) -> None:
    """Answer 403 with this sentence unless the person has the role now."""
    if role not in request.roles:
        raise PermissionDenied(sentence)
