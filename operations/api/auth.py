"""Who asks: a bearer key, looked up and checked against the database on each request. Nothing of it is ever logged."""

import hmac
import re
from typing import Final

from django.db.models.functions import Now
from django.http import HttpRequest
from ninja.security.http import HttpAuthBase

from operations.api.problems import Problem
from operations.models import AgentKey
from operations.services.prepare import Preparer

KEY: Final = re.compile(r"ops_(?:live|test)_[0-9A-Za-z]{8}_[0-9A-Za-z_-]{43}")
PREFIX: Final = 17  # "ops_live_" and eight characters: enough to find the row, useless without the rest
REFUSED: Final = "Give a valid agent key: Authorization: Bearer ops_live_..."


class AgentRequest(HttpRequest):
    """A request whose key was accepted."""

    auth: Preparer


class AgentKeyAuth(HttpAuthBase):
    """`Authorization: Bearer <agent key>`. Every refusal reads the same, so that nothing can be learned from it."""

    openapi_scheme: str = "bearer"

    def __call__(self, request: HttpRequest) -> Preparer:
        scheme, _, key = request.headers.get("Authorization", "").partition(" ")
        preparer = _preparer(key.strip()) if scheme.lower() == "bearer" else None
        if preparer is None:
            raise Problem(401, "invalid_key", REFUSED)
        return preparer


def _preparer(key: str) -> Preparer | None:
    if not KEY.fullmatch(key):
        return None
    row = (
        AgentKey.objects.filter(prefix=key[:PREFIX], revoked_at__isnull=True, expires_at__gt=Now())
        .select_related("agent", "tenant")
        .first()
    )
    if not hmac.compare_digest(AgentKey.hash_of(key), row.key_hash if row else "0" * 64) or row is None:
        return None
    return Preparer(
        tenant_id=row.tenant_id,
        tenant_slug=row.tenant.slug,
        agent_id=row.agent_id,
        agent_name=row.agent.name,
        actions=frozenset(row.actions),
    )
