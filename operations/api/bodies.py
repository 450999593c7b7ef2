"""The one reading of a request body: bytes, strict JSON, strict model. Nothing is coerced and nothing is guessed."""

from typing import Final

from django.http import HttpRequest, UnreadablePostError
from pydantic import ValidationError

from operations.api.problems import Problem
from operations.api.schemas import PrepareIn
from operations.core.intent import parse_strict
from operations.core.sensitive import problem_in
from operations.services.prepare import Wish

CODES: Final = {"extra_forbidden": "unexpected_field", "missing": "missing_field"}
CHECKED: Final = ("client_reference", "connection", "data_version")


def wish_of(request: HttpRequest) -> Wish:
    """The wish in the body. Raises `Problem` or `Refused`; both name the field."""
    _require_json(request)
    document = parse_strict(_raw(request))
    try:
        body = PrepareIn.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        field = ".".join(str(step) for step in first["loc"])
        raise Problem(422, CODES.get(first["type"], "invalid_field"), f"{first['msg']}.", field=field) from None
    if problem := problem_in({name: document.get(name) for name in CHECKED}):
        raise Problem(422, "sensitive_or_unsafe_text", problem[1], field=problem[0])
    return Wish(
        client_reference=body.client_reference,
        action=body.action,
        connection=body.connection,
        payload=body.payload,
        data_version=body.data_version or "",
        rationale=body.rationale or "",
        replaces=body.replaces or "",
        separate_effect=body.separate_effect,
    )


def require_no_instruction(request: HttpRequest) -> None:
    """For calls that take none: an agent that sends a decision along must be told that it has none to give."""
    raw = _raw(request)
    if not raw.strip():
        return
    _require_json(request)
    for field in parse_strict(raw):
        raise Problem(422, "unexpected_field", "This call takes no instructions.", field=field)


def _raw(request: HttpRequest) -> bytes:
    try:
        return request.body
    except UnreadablePostError:
        raise Problem(400, "bad_request", "The body did not arrive whole.") from None


def _require_json(request: HttpRequest) -> None:
    charset = (request.content_params or {}).get("charset", "utf-8")
    if request.content_type != "application/json" or charset.strip('"').lower() not in ("utf-8", "utf8"):
        raise Problem(415, "unsupported_media_type", "Send application/json in UTF-8.")
