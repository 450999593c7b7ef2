"""The one thing approval leaves on the ground floor."""

from datetime import datetime

from django.db import connection

from operations.core.states import State
from operations.models import Permit
from operations.services.transition import schedule


def grant(
    *,
    operation_id: str,
    tenant_id: int,
    round_number: int,
    payload_hash: str,
    policy_version: str,
    granted_by: list[str],
    expires_at: datetime,
) -> None:
    """Write the permit inside the transaction of the decision that completed the quorum, and make the operation due."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE operations_permit SET revoked_at = clock_timestamp() "
            "WHERE operation_id = %s AND revoked_at IS NULL",
            [operation_id],
        )
    Permit.objects.create(
        operation_id=operation_id,
        tenant_id=tenant_id,
        round_number=round_number,
        payload_hash=payload_hash,
        policy_version=policy_version,
        granted_by=granted_by,
        expires_at=expires_at,
    )
    schedule(operation_id=operation_id, expected=State.NOT_STARTED, next_step=0)
