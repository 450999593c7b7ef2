"""Operations as JSON for agents: the same few queries for one as for a page of them. People's names stay out."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from django.db.models import QuerySet

from operations.api.schemas import ApprovalOut, AttemptOut, EvidenceOut, OperationOut, ToolOut
from operations.models import Attempt, Evidence, Intent, Operation
from operations.models.evidence import Source
from operations.services.prepare import Preparer
from operations.words import message, reason_sentence, verdict_words

BY_PEOPLE: Final = (Source.APPROVER, Source.OPERATOR)

type Approvals = Callable[[Sequence[str]], dict[str, ApprovalOut]]


def own(preparer: Preparer) -> QuerySet[Operation]:
    """This agent's operations in its tenant; nothing else can be reached from here."""
    return Operation.objects.filter(tenant_id=preparer.tenant_id, intent__agent_id=preparer.agent_id)


def as_json(operations: QuerySet[Operation], approvals: Approvals) -> list[OperationOut]:
    """The operations in the query's order."""
    rows = list(operations.select_related("intent", "tenant", "connection"))
    ids = [row.pk for row in rows]
    if not ids:
        return []
    attempts = _by_operation(Attempt.objects.filter(operation_id__in=ids).order_by("number"))
    evidence = _by_operation(Evidence.objects.filter(operation_id__in=ids).order_by("pk"))
    replaced_by = dict(
        Intent.objects.filter(replaces_id__in=ids).order_by("operation_id").values_list("replaces_id", "operation_id")
    )
    approved = approvals(ids)
    return [
        _operation(row, approved[row.pk], attempts[row.pk], evidence[row.pk], replaced_by.get(row.pk)) for row in rows
    ]


def _by_operation[Row: (Attempt, Evidence)](rows: Iterable[Row]) -> defaultdict[str, list[Row]]:
    grouped: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        grouped[row.operation_id].append(row)
    return grouped


def _operation(
    row: Operation, approval: ApprovalOut, attempts: list[Attempt], evidence: list[Evidence], replaced_by: str | None
) -> OperationOut:
    intent = row.intent
    canonical = bytes(intent.canonical).decode("utf-8")
    return OperationOut(
        operation_id=row.pk,
        client_reference=intent.client_reference,
        action=intent.action,
        tenant_id=row.tenant.slug,
        connection=row.connection.name,
        payload=json.loads(canonical)["payload"],
        data_version=intent.data_version or None,
        policy_version=intent.policy_version,
        payload_hash=intent.payload_hash,
        canonical=canonical,
        approval=approval,
        tool=ToolOut(name=intent.action, idempotency_key=intent.idempotency_key),
        execution_status=row.state,  # type: ignore[arg-type]  # pydantic checks that it is one of the states
        reason=row.reason or None,
        message=message(
            row.state,
            approval.status,
            reason=row.reason,
            attempts=row.attempts_made,
            external_id=row.external_id,
            waits_for=row.waits_for,
            replaced_by=replaced_by or "",
        ),
        external_id=row.external_id or None,
        result=_result(row, evidence),
        attempts=[_attempt(item) for item in attempts],
        evidence=[_evidence(item) for item in evidence],
        replaces=intent.replaces_id,
        replaced_by=replaced_by,
    )


def _result(row: Operation, evidence: list[Evidence]) -> dict[str, Any] | None:
    """The provider's object as the fact behind the state shows it, else as last seen; several are no result."""
    decisive = [item for item in evidence if item.pk == row.fact_id and item.result]
    last = decisive or [item for item in evidence if item.result][-1:]
    objects = last[0].result if last else []
    return objects[0] if len(objects) == 1 else None


def _attempt(item: Attempt) -> AttemptOut:
    return AttemptOut(
        number=item.number,
        claimed_at=item.claimed_at,
        finished_at=item.finished_at,
        phase=item.phase or None,
        http_status=item.http_status,
        provider_request_id=item.provider_request_id or None,
        outcome=item.outcome or None,
    )


def _evidence(item: Evidence) -> EvidenceOut:
    """What a person said is told without the person: an agent must not learn who is lenient."""
    words = item.words
    if item.source in BY_PEOPLE:
        words = f"{verdict_words(item.verdict)}. {reason_sentence(item.reason)}"
    return EvidenceOut(
        source=item.source,
        verdict=item.verdict,
        reason=item.reason or None,
        words=words,
        at=item.recorded_at,
        external_id=item.external_id or None,
    )
