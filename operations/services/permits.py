"""The one thing approval leaves on the ground floor."""

import json
from datetime import datetime

from operations.core.states import State
from operations.services import sql
from operations.services.transition import schedule

REVOKE = "UPDATE operations_permit SET revoked_at = clock_timestamp() WHERE operation_id = %s AND revoked_at IS NULL"

GRANT = """
INSERT INTO operations_permit
    (operation_id, tenant_id, round_number, payload_hash, policy_version, granted_by, expires_at)
VALUES (%s, %s, %s, %s, %s, %s, %s)
"""


def revoke(*, operation_id: str) -> None:
    """Take back the live permit, if there is one."""
    sql.execute(REVOKE, [operation_id])


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
    """Write the permit inside the transaction of the decision that completed the quorum, and make the operation due.

    A permit of an earlier round is taken back first: at most one is live.
    """
    if round_number > 1:
        revoke(operation_id=operation_id)
    sql.execute(
        GRANT,
        [operation_id, tenant_id, round_number, payload_hash, policy_version, json.dumps(granted_by), expires_at],
    )
    schedule(operation_id=operation_id, expected=State.NOT_STARTED, next_step=0)
