"""Step one: the claim and its attempt row, committed before anything leaves."""

import json
import uuid
from dataclasses import dataclass

from django.conf import settings
from django.db import IntegrityError, transaction

from operations.core.contract import Contract
from operations.core.intent import Json, idempotency_key, sha256_of
from operations.core.render import Expected, RenderedRequest, expected, write_request
from operations.providers.connections import NotConfigured, target_of, writer_for
from operations.providers.ports import Writer
from operations.providers.registry import NoContract, contract_for
from operations.services import sql
from operations.services.execute.guards import refuse_inside_transaction
from operations.services.transition import claim_row

INTENT = """
SELECT i.canonical, i.payload_hash, i.contract_digest, i.action, i.idempotency_key, i.tenant_id,
       c.name, c.provider, c.credential_reference, p.id,
       (SELECT a.request_digest FROM operations_attempt a WHERE a.operation_id = i.operation_id LIMIT 1),
       EXISTS (SELECT FROM operations_attempt a WHERE a.operation_id = i.operation_id AND a.outcome <> 'not_sent'),
       CASE WHEN o.tenant_id = t.id AND c.tenant_id = t.id THEN t.slug ELSE '' END
FROM operations_intent i
JOIN operations_operation o ON o.intent_id = i.operation_id
JOIN operations_tenant t ON t.id = i.tenant_id
JOIN operations_connection c ON c.id = i.connection_id
LEFT JOIN operations_permit p ON p.operation_id = i.operation_id AND p.revoked_at IS NULL
WHERE i.operation_id = %s
"""

ATTEMPT = """
INSERT INTO operations_attempt
    (operation_id, tenant_id, number, claim_token, worker, permit_id, request_digest, absence_credible_at,
     absences_needed, phase, provider_request_id, external_id, outcome)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s + make_interval(secs => %s), %s, '', '', '', '')
"""


class ClaimRefused(Exception):
    """Nothing was claimed and nothing sent. `reason` is a code."""

    def __init__(self, reason: str, words: str) -> None:
        super().__init__(words)
        self.reason = reason


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """One worker's right to make one call, committed before it is made."""

    operation_id: str
    tenant_id: int
    number: int
    token: uuid.UUID
    worker: str
    payload_hash: str
    contract: Contract
    request: RenderedRequest
    wanted: Expected
    repeat: bool  # an earlier request of this operation may have left
    writer: Writer


def claim(*, operation_id: str, worker: str) -> Claim | None:
    """Commit the claim and its attempt row. None: somebody else was quicker. Raises `ClaimRefused`."""
    refuse_inside_transaction()
    row = sql.fetch_one(INTENT, [operation_id])
    if row is None:
        raise ClaimRefused("no_intent", "There is no such intent.")
    raw, stored_hash, digest, action, key, tenant_id, name, provider, credential, permit_id, earlier, repeat, tenant = (
        row
    )
    document = _intact(bytes(raw), stored_hash)
    _belongs(document, operation_id, tenant)
    contract, writer = _bound(document, digest, action, name, provider, credential)
    if key != idempotency_key(operation_id, contract.dedupe.key_form):
        raise ClaimRefused("integrity", "The stored key is not the one that follows from the operation's id.")
    values: dict[str, Json] = {**document, "idempotency_key": key}
    request = write_request(contract, values)
    if earlier is not None and earlier != request.digest:
        raise ClaimRefused("integrity", "The request would not be the one that was sent before.")
    token = uuid.uuid4()
    number = _commit_claim(operation_id, tenant_id, worker, token, permit_id, request, contract)
    if number is None:
        return None
    return Claim(
        operation_id=operation_id,
        tenant_id=tenant_id,
        number=number,
        token=token,
        worker=worker,
        payload_hash=stored_hash,
        contract=contract,
        request=request,
        wanted=expected(contract, values),
        repeat=repeat,
        writer=writer,
    )


def _commit_claim(
    operation_id: str,
    tenant_id: int,
    worker: str,
    token: uuid.UUID,
    permit_id: int | None,
    request: RenderedRequest,
    contract: Contract,
) -> int | None:
    if permit_id is None:
        raise ClaimRefused("no_permit", "Nobody has approved it.")
    try:
        with transaction.atomic():
            row = claim_row(operation_id=operation_id, worker=worker, token=token, lease=settings.LEASE_SECONDS)
            if row is None:
                return None
            sql.execute(
                ATTEMPT,
                [
                    operation_id,
                    tenant_id,
                    row.number,
                    token,
                    worker,
                    permit_id,
                    request.digest,
                    row.lease_until,
                    contract.absence.processing_delay,
                    max(contract.absence.agreeing_reads, 1),
                ],
            )
    except IntegrityError as error:
        raise ClaimRefused("guard", sql.constraint_of(error)) from None
    return row.number


def _intact(raw: bytes, stored_hash: str) -> dict[str, Json]:
    if sha256_of(raw) != stored_hash:
        raise ClaimRefused("integrity", "The stored bytes no longer have the hash they were prepared with.")
    document: dict[str, Json] = json.loads(raw)
    return document


def _belongs(document: dict[str, Json], operation_id: str, tenant: str) -> None:
    """The approved bytes name the operation and the tenant they are for; the rows around them must say the same."""
    if (document["operation_id"], document["tenant"]) != (operation_id, tenant):
        raise ClaimRefused("integrity", "The approved bytes are not about this operation of this tenant.")


def _bound(
    document: dict[str, Json], digest: str, action: str, name: str, provider: str, credential: str
) -> tuple[Contract, Writer]:
    """The contract and the door, if they are still those that the approved bytes name."""
    try:
        loaded = contract_for(provider, action)
        now = {"name": name, "provider": provider, "target": target_of(name)}
        writer = writer_for(name=name, credential_reference=credential, contract=loaded.contract)
    except (NoContract, NotConfigured) as error:
        raise ClaimRefused("not_configured", str(error)) from None
    now |= {"contract": loaded.contract.cited, "contract_digest": loaded.digest}
    if document["connection"] != now or digest != loaded.digest or document["action"] != action:
        raise ClaimRefused("connection_moved", "The connection or its contract is not the one that was approved.")
    return loaded.contract, writer
