"""Every refusal of the API, as application/problem+json (RFC 9457) with a stable `code`. Input is never echoed.

    401 invalid_key             no key, or one that is unknown, expired or revoked
    403 action_not_allowed      the key does not cover this action
    404 not_found               no such address, or no such operation of this agent
    405 method_not_allowed
    409 reference_taken         the client_reference names an operation with other content (its operation_id is given)
        not_replaceable         the operation to be replaced may already have been sent
        not_withdrawable        the operation may already have been sent, or is finished
    413 too_large
    415 unsupported_media_type  the body must be application/json in UTF-8
    422 byte_order_mark duplicate_key float integer_out_of_range lone_surrogate not_an_object not_json not_utf8
        nul_character too_deep no_canonical_form
                                the body is not the strict JSON that can be hashed; `field` says where
        invalid_field invalid_payload unexpected_field missing_field invalid_parameter unexpected_parameter
        unknown_action unknown_connection connection_unusable no_policy currency_not_allowed over_limit
        unknown_operation sensitive_or_unsafe_text
    500 internal_error          503 unavailable

With any code but those of 5xx nothing was stored. After a 5xx or no answer at all, prepare again with the same
client_reference: it is the same operation or a new one, never a second one.
"""

import json
import logging
import unicodedata
from http import HTTPStatus
from typing import Final

from django.core.exceptions import RequestDataTooBig
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from ninja.errors import HttpError
from ninja.errors import ValidationError as BadParameters

from operations.core.intent import Refused
from operations.core.sensitive import problem_in
from operations.services.prepare import NotReplaceable, PrepareRefused, ReferenceTaken
from operations.services.withdraw import NotWithdrawable

logger = logging.getLogger(__name__)
MEDIA_TYPE: Final = "application/problem+json"
STATUS_OF: Final = {"too_large": 413, "action_not_allowed": 403}
CODE_OF: Final = {
    400: "bad_request",
    401: "invalid_key",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    413: "too_large",
}
TOO_LARGE: Final = "The body is larger than this service accepts."


class Problem(Exception):
    """A refusal with everything its answer says."""

    def __init__(
        self, status: int, code: str, detail: str, *, field: str | None = None, operation_id: str = ""
    ) -> None:
        super().__init__(detail)
        self.status, self.code, self.detail = status, code, detail
        self.field, self.operation_id = field, operation_id


def answer(problem: Problem) -> HttpResponse:
    """The problem as an HTTP answer."""
    body: dict[str, str | int] = {
        "type": f"urn:opsconsole:problem:{problem.code}",
        "title": HTTPStatus(problem.status).phrase,
        "status": problem.status,
        "detail": problem.detail,
        "code": problem.code,
    }
    if problem.field is not None:
        body["field"] = _harmless(problem.field)
    if problem.operation_id:
        body["operation_id"] = problem.operation_id
    response = HttpResponse(json.dumps(body), status=problem.status, content_type=MEDIA_TYPE)
    if problem.status == 401:
        response["WWW-Authenticate"] = 'Bearer realm="opsconsole"'
    return response


def on_exception(request: HttpRequest, error: Exception | type[Exception]) -> HttpResponse:
    """Turn whatever a handler raised into a problem; what nobody foresaw is logged and answered without details."""
    problem = _known(error)
    if problem is None:
        logger.error("The API failed on %s %s.", request.method, request.path, exc_info=True)
        problem = Problem(500, "internal_error", "Something went wrong here; it is logged. Ask again the same way.")
    return answer(problem)


def _known(error: object) -> Problem | None:
    match error:
        case Problem():
            return error
        case Refused() | PrepareRefused():
            return Problem(STATUS_OF.get(error.code, 422), error.code, error.detail, field=error.field)
        case ReferenceTaken():
            return Problem(
                409, "reference_taken", str(error), field="client_reference", operation_id=error.operation_id
            )
        case NotReplaceable():
            return Problem(409, "not_replaceable", str(error), field="replaces")
        case NotWithdrawable():
            return Problem(409, "not_withdrawable", str(error))
        case Http404():
            return Problem(404, "not_found", "There is no such thing here.")
        case BadParameters():
            return _bad_parameter(error)
        case _:
            return _from_outside(error)


def _from_outside(error: object) -> Problem | None:
    """What the framework and the database raise."""
    match error:
        case RequestDataTooBig():
            return Problem(413, "too_large", TOO_LARGE, field="")
        case HttpError():
            phrase = HTTPStatus(error.status_code).phrase
            return Problem(error.status_code, CODE_OF.get(error.status_code, "refused"), f"{phrase}.")
        case OperationalError() | InterfaceError():
            logger.warning("The database did not answer: %s.", type(error).__name__)
            return Problem(503, "unavailable", "The database does not answer now. Ask again the same way.")
        case _:
            return None


def _bad_parameter(error: BadParameters) -> Problem:
    """The first parameter that is wrong. The location begins with where it stood: query or path."""
    first = error.errors[0]
    field = ".".join(str(step) for step in first["loc"][1:])
    return Problem(422, "invalid_parameter", f"{first['msg']}.", field=field)


def _harmless(field: str) -> str:
    """A field's name comes from the agent, too; one that is itself a secret is not repeated."""
    return "(not shown)" if problem_in(unicodedata.normalize("NFC", field)) else field[:200]
