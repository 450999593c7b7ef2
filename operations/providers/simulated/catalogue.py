"""The faults by name: which parameters each takes and which plan it makes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from operations.providers.simulated import checks
from operations.providers.simulated.api import Effect
from operations.providers.simulated.bodies import KINDS, Spoil
from operations.providers.simulated.messages import Answer, BadField, Json, error, reply
from operations.providers.simulated.plan import Delivery, Kill, Plan

REQUIRED = object()
Values = Mapping[str, Any]
Parameters = Mapping[str, tuple[checks.Check, Any]]

SECONDS: Parameters = {"seconds": (checks.seconds, REQUIRED)}
ACTS: Parameters = {"acts": (checks.flag, True)}
RESTS: Parameters = {"acts": (checks.flag, False)}
ERROR: Parameters = {
    "status": (checks.whole(400, 599), 500),
    "body": (checks.anything, None),
    "headers": (checks.header_map, {}),
}


@dataclass(frozen=True)
class Kind:
    """One fault: what it promises to do, its parameters, its plan, and whether it needs a payment being created."""

    build: Callable[[Values], Plan]
    parameters: Parameters
    creates: bool = False


def given(values: Values) -> Answer:
    """The answer described by status, body and headers; a text body is sent as it is."""
    body, headers = values["body"], values["headers"]
    if body is None:
        answer = error(values["status"], "api_error", "internal_error", "Something went wrong on our side.")
        return Answer(answer.status, answer.body, {**answer.headers, **headers})
    if isinstance(body, str):
        return Answer(values["status"], body.encode(), {"Content-Type": "text/plain; charset=utf-8", **headers})
    return reply(values["status"], body, headers)


def cut(values: Values, delivery: Delivery) -> Plan:
    """An answer that does not arrive whole."""
    return Plan(effect=Effect(forget=not values["acts"]), delivery=delivery)


def location(value: Any) -> str | None:
    """An address to be sent to; nobody here goes there."""
    return checks.text(value) or checks.header_map({"Location": value})


def redirect(values: Values) -> Plan:
    """A redirect; nothing is done here."""
    moved = error(values["status"], "moved", "moved", "Go there instead.")
    return Plan(acts=False, replace=Answer(moved.status, moved.body, {**moved.headers, "Location": values["location"]}))


def accept_later(values: Values) -> Plan:
    """202 now, final later."""
    later = Effect(settle_after=values["seconds"], final=values["final"], webhook=values["webhook"])
    return Plan(effect=later)


def bad_body(values: Values) -> Plan:
    """A body that cannot be believed."""
    order = Spoil(values["kind"], values["bytes"], values["depth"], values["status"])
    return Plan(effect=Effect(forget=not values["acts"]), spoil=order)


def kill_caller(values: Values) -> Plan:
    """The caller dies. With ``seconds`` its request is still on its way then, and is acted upon that much later."""
    before, seconds = values["when"] == "before_acting", values["seconds"]
    if seconds is not None and not before:
        raise BadField("seconds", "seconds goes with when=before_acting only.")
    late = before and seconds is not None
    return Plan(
        kill=Kill(before, values["pid"]),
        wait_before=seconds or 0,
        acts=late or not before,
        delivery=Delivery.NOTHING,
    )


def raw(values: Values) -> Plan:
    """Exactly this answer."""
    return Plan(
        acts=values["acts"], replace=given({**values, "body": "" if values["body"] is None else values["body"]})
    )


FAULTS: dict[str, Kind] = {
    "lose_answer_before_acting": Kind(lambda v: Plan(acts=False, delivery=Delivery.NOTHING), {}),
    "lose_answer_after_acting": Kind(lambda v: Plan(delivery=Delivery.NOTHING), {}),
    "delay_answer": Kind(lambda v: Plan(wait_after=v["seconds"]), SECONDS),
    "delay_acting": Kind(lambda v: Plan(wait_before=v["seconds"]), SECONDS),
    "hold_answer": Kind(lambda v: Plan(hold_after=True), {}),
    "hold_acting": Kind(lambda v: Plan(hold_before=True), {}),
    "error_with_effect": Kind(lambda v: Plan(replace=given(v)), ERROR),
    "error_without_effect": Kind(lambda v: Plan(acts=False, replace=given(v)), ERROR),
    "decline": Kind(
        lambda v: Plan(acts=False, replace=error(402, "payment_declined", v["code"], "The payment was declined.")),
        {"code": (checks.text, "insufficient_funds")},
    ),
    "accept_later": Kind(
        accept_later,
        {
            **SECONDS,
            "final": (checks.one_of("succeeded", "failed"), "succeeded"),
            "webhook": (checks.flag, True),
        },
        creates=True,
    ),
    "duplicate_objects": Kind(
        lambda v: Plan(effect=Effect(copies=v["count"])), {"count": (checks.whole(2, 100), 2)}, creates=True
    ),
    "bad_body": Kind(
        bad_body,
        {
            "kind": (checks.one_of(*KINDS), REQUIRED),
            "bytes": (checks.whole(1, 200_000_000), 5_000_000),
            "depth": (checks.whole(1, 1_000_000), 1000),
            "status": (checks.optional(checks.whole(200, 599)), None),
            **ACTS,
        },
    ),
    "close_after_half_body": Kind(lambda v: cut(v, Delivery.HALF_BODY), ACTS),
    "close_after_headers": Kind(lambda v: cut(v, Delivery.HEADERS_ONLY), ACTS),
    "reset": Kind(lambda v: Plan(acts=v["acts"], delivery=Delivery.RESET), RESTS),
    "redirect": Kind(redirect, {"status": (checks.whole(300, 399), 307), "location": (location, REQUIRED)}),
    "forget": Kind(lambda v: Plan(effect=Effect(forget=True)), {}),
    "hide": Kind(lambda v: Plan(effect=Effect(hide=v["seconds"])), SECONDS, creates=True),
    "kill_caller": Kind(
        kill_caller,
        {
            "when": (checks.one_of("before_acting", "after_acting"), REQUIRED),
            "pid": (checks.optional(checks.whole(2)), None),
            "seconds": (checks.optional(checks.seconds), None),
        },
    ),
    "event_before_answer": Kind(
        lambda v: Plan(event_first=True, delivery=Delivery.WHOLE if v["answer"] else Delivery.NOTHING),
        {"answer": (checks.flag, True)},
        creates=True,
    ),
    "drip": Kind(lambda v: Plan(drip=v["seconds"]), SECONDS),
    "raw": Kind(
        raw,
        {
            "status": (checks.whole(200, 599), 200),
            "body": (checks.anything, ""),
            "headers": (checks.header_map, {}),
            **RESTS,
        },
    ),
}


def build_plan(name: str, parameters: Json) -> tuple[Plan, Json]:
    """The plan of a fault and its parameters with the defaults filled in; raises BadField."""
    kind = FAULTS[name]
    checks.demand({key: check for key, (check, _) in kind.parameters.items()}, parameters)
    values = {key: parameters.get(key, default) for key, (_, default) in kind.parameters.items()}
    for key, value in values.items():
        if value is REQUIRED:
            raise BadField(key, f"{key} is required by {name}.")
    return kind.build(values), values
