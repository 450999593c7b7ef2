"""The five calls. Each is thin: who asks, what they say, one service, the operation as it stands."""

import re
from typing import Annotated, Any, Final

from django.http import Http404, HttpResponse
from ninja import Router, Status
from pydantic import Field

from operations import bell
from operations.api.auth import AgentKeyAuth, AgentRequest
from operations.api.bodies import require_no_instruction, wish_of
from operations.api.doors import Doors
from operations.api.problems import Problem
from operations.api.reading import as_json, own
from operations.api.schemas import (
    OPERATION_ID,
    OperationId,
    OperationOut,
    OperationsOut,
    PrepareIn,
    ProblemOut,
    Reference,
)
from operations.api.waiting import LONGEST, wait_for_change
from operations.core.states import State
from operations.services.withdraw import NotWithdrawable

PREPARE_BODY: Final = {
    "requestBody": {"required": True, "content": {"application/json": {"schema": PrepareIn.model_json_schema()}}}
}
FILTERS: Final = frozenset({"client_reference", "state", "cursor", "limit"})


def _problems(*statuses: int) -> dict[int, Any]:
    return dict.fromkeys((401, *statuses, 500, 503), ProblemOut)


def _require_own(request: AgentRequest, operation_id: str) -> None:
    """Another tenant's or another agent's operation does not exist here, and neither does what is no id."""
    if not re.fullmatch(OPERATION_ID, operation_id) or not own(request.auth).filter(pk=operation_id).exists():
        raise Http404


def _one(request: AgentRequest, operation_id: str, doors: Doors) -> OperationOut:
    if not re.fullmatch(OPERATION_ID, operation_id):
        raise Http404
    for operation in as_json(own(request.auth).filter(pk=operation_id), doors.approvals):
        return operation
    raise Http404


def router(doors: Doors) -> Router:
    """The routes, standing on these doors."""
    routes = Router(auth=AgentKeyAuth(), tags=["operations"])
    _add_prepare(routes, doors)
    _add_list(routes, doors)
    _add_read(routes, doors)
    _add_resume(routes, doors)
    _add_cancel(routes, doors)
    return routes


def _add_prepare(routes: Router, doors: Doors) -> None:
    @routes.post(
        "/operations",
        response={201: OperationOut, 200: OperationOut, **_problems(403, 409, 413, 415, 422)},
        operation_id="prepare_operation",
        summary="Prepare",
        openapi_extra=PREPARE_BODY,
    )
    def prepare(request: AgentRequest, response: HttpResponse) -> Status[OperationOut]:
        """Store the exact intent and ask for its approval. 201 when it is new, 200 when it was already there."""
        prepared = doors.take_in(preparer=request.auth, wish=wish_of(request))
        response["Location"] = f"{request.path}/{prepared.operation_id}"
        return Status(201 if prepared.created else 200, _one(request, prepared.operation_id, doors))


def _add_list(routes: Router, doors: Doors) -> None:
    @routes.get(
        "/operations",
        response={200: OperationsOut, **_problems(422)},
        operation_id="list_operations",
        summary="List",
    )
    def list_operations(
        request: AgentRequest,
        client_reference: Reference | None = None,
        state: State | None = None,
        cursor: OperationId | None = None,
        limit: Annotated[int, Field(ge=1, le=100)] = 50,
    ) -> OperationsOut:
        """This agent's operations, newest first. Give `next_cursor` back as `cursor` for the next page."""
        for name in request.GET.keys() - FILTERS:
            raise Problem(422, "unexpected_parameter", "There is no such filter.", field=name)
        found = own(request.auth).order_by("-intent_id")
        if client_reference is not None:
            found = found.filter(intent__client_reference=client_reference)
        if state is not None:
            found = found.filter(state=state)
        if cursor is not None:
            found = found.filter(intent_id__lt=cursor)
        rows = as_json(found[: limit + 1], doors.approvals)
        page = rows[:limit]
        return OperationsOut(operations=page, next_cursor=page[-1].operation_id if len(rows) > limit else None)


def _add_read(routes: Router, doors: Doors) -> None:
    @routes.get(
        "/operations/{operation_id}",
        response={200: OperationOut, **_problems(404, 422)},
        operation_id="read_operation",
        summary="Read",
    )
    def read(
        request: AgentRequest, operation_id: str, wait: Annotated[int, Field(ge=0, le=LONGEST)] = 0
    ) -> OperationOut:
        """The operation as it stands; with `wait`, as soon as its state or approval changes, at most that long."""
        if wait:
            _require_own(request, operation_id)
            wait_for_change(operation_id, wait, doors.standing)
        return _one(request, operation_id, doors)


def _add_resume(routes: Router, doors: Doors) -> None:
    @routes.post(
        "/operations/{operation_id}/resume",
        response={202: OperationOut, **_problems(404, 422)},
        operation_id="resume_operation",
        summary="Resume",
    )
    def resume(request: AgentRequest, operation_id: str) -> Status[OperationOut]:
        """Ask the worker to look whether something is to be done. It decides; this call sends nothing by itself."""
        require_no_instruction(request)
        _require_own(request, operation_id)
        bell.ring(operation_id)
        return Status(202, _one(request, operation_id, doors))


def _add_cancel(routes: Router, doors: Doors) -> None:
    @routes.post(
        "/operations/{operation_id}/cancel",
        response={200: OperationOut, **_problems(404, 409, 422)},
        operation_id="cancel_operation",
        summary="Cancel",
    )
    def cancel(request: AgentRequest, operation_id: str) -> OperationOut:
        """Take it back before anything was sent. Cancelling what this agent has already cancelled changes nothing."""
        require_no_instruction(request)
        _require_own(request, operation_id)
        try:
            doors.cancel(preparer=request.auth, operation_id=operation_id)
        except NotWithdrawable:
            cancelled = own(request.auth).filter(pk=operation_id, state=State.CANCELLED, reason="cancelled_by_agent")
            if not cancelled.exists():
                raise
        return _one(request, operation_id, doors)
