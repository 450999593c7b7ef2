"""What goes in and out, as models. In: strict, no unknown fields. Out: the operation as an agent may see it."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

OPERATION_ID = r"^op_[0-7][0-9A-HJKMNP-TV-Z]{25}$"
OperationId = Annotated[str, StringConstraints(pattern=OPERATION_ID)]


def _printable(text: str) -> str:
    if not text.isprintable():
        raise ValueError("only printable characters on one line")
    return text


Reference = Annotated[str, StringConstraints(min_length=1, max_length=200), AfterValidator(_printable)]


class PrepareIn(BaseModel):
    """What an agent wants done. Equal client_reference and content: the same operation, however often it is sent."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    client_reference: Annotated[Reference, Field(description="The agent's own name for this wish; the repeat key.")]
    action: Annotated[str, StringConstraints(min_length=1, max_length=80), Field(examples=["payments.create"])]
    connection: Annotated[str, StringConstraints(min_length=1, max_length=60), Field(examples=["bank-main"])]
    payload: Annotated[dict[str, Any], Field(description="The action's own fields; integers and strings, no floats.")]
    data_version: Annotated[Reference | None, Field(description="The version of the data this rests on.")] = None
    rationale: Annotated[
        Annotated[str, StringConstraints(max_length=4000)] | None,
        Field(description="Why, in the agent's words; shown to the approver as unverified, and no part of the hash."),
    ] = None
    replaces: Annotated[OperationId | None, Field(description="An operation that this one takes the place of.")] = None
    separate_effect: Annotated[bool, Field(description="This is meant to happen besides an equal one.")] = False


class DecisionOut(BaseModel):
    """One approver's answer. Who it was is not for agents."""

    verdict: Literal["approve", "reject"]
    at: datetime
    reason: Annotated[str | None, Field(description="Given with a rejection.")]


class ApprovalOut(BaseModel):
    """Where the newest approval round stands. `url` is the page for the approver, not for the agent."""

    status: Literal["none", "open", "approved", "rejected", "expired", "withdrawn"]
    expires_at: datetime | None
    url: str
    decisions: list[DecisionOut]


class ToolOut(BaseModel):
    name: str
    idempotency_key: str


class AttemptOut(BaseModel):
    """One call that was made or may have been made."""

    number: int
    claimed_at: datetime
    finished_at: datetime | None
    phase: Annotated[str | None, Field(description="How far it got: connecting, sending, waiting, answered.")]
    http_status: int | None
    provider_request_id: str | None
    outcome: Annotated[str | None, Field(description="Null while the call may be under way.")]


class EvidenceOut(BaseModel):
    """What was learned, and what it proves."""

    source: str
    verdict: str
    reason: str | None
    words: str
    at: datetime
    external_id: str | None


class OperationOut(BaseModel):
    """One operation as it stands. `canonical` holds the exact approved bytes; its sha256 is `payload_hash`."""

    operation_id: str
    client_reference: str
    action: str
    tenant_id: str
    connection: str
    payload: dict[str, Any]
    data_version: str | None
    policy_version: str
    payload_hash: str
    canonical: str
    approval: ApprovalOut
    tool: ToolOut
    execution_status: Literal[
        "not_started", "in_progress", "pending", "unknown", "disputed", "succeeded", "failed", "cancelled"
    ]
    reason: Annotated[str | None, Field(description="A code that explains the status; the status alone decides.")]
    message: Annotated[str, Field(description="One sentence to pass on: did anything happen outside, and what now.")]
    external_id: str | None
    result: Annotated[dict[str, Any] | None, Field(description="The provider's object, in its compared values.")]
    attempts: list[AttemptOut]
    evidence: list[EvidenceOut]
    replaces: str | None
    replaced_by: str | None


class OperationsOut(BaseModel):
    """A page of operations, newest first. `next_cursor` is null on the last page."""

    operations: list[OperationOut]
    next_cursor: str | None


class ProblemOut(BaseModel):
    """A refusal (RFC 9457). `code` is stable; `field` is a dotted path into the request, "" for the whole body."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    field: str | None = None
    operation_id: str | None = None
