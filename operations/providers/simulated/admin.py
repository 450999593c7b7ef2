"""The switches: health, faults, settings, what arrived, objects, held answers and events. Not part of the log."""

import dataclasses
import os
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import unquote

from operations.providers.simulated import checks
from operations.providers.simulated.api import DEAL_CHECKS, PAYMENT_CHECKS
from operations.providers.simulated.engine import Provider
from operations.providers.simulated.ledger import Payment, new_deal, new_payment
from operations.providers.simulated.messages import Answer, BadField, Json, error, read_object, reply

Handler = Callable[["Admin", Json], Answer]

STATUS: dict[str, checks.Check] = {"status": checks.one_of("processing", "succeeded", "failed")}
PLANT_PAYMENT: dict[str, checks.Check] = {**PAYMENT_CHECKS, **STATUS, "id": checks.text}
PLANT_DEAL: dict[str, checks.Check] = {
    **DEAL_CHECKS,
    "id": checks.text,
    "version": checks.whole(1),
    "updated_by": checks.text,
}
WAITING: dict[str, checks.Check] = {"at_least": checks.whole(0), "wait": checks.seconds}
REQUEST_FILTERS = ("method", "path", "reference", "since", "key")


class Admin:
    """Answers the admin addresses."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider

    def answer(self, method: str, path: str, query: Mapping[str, str], body: str) -> Answer:
        """The answer to one admin request; an unknown name or a wrong value is a 400 that names the field."""
        try:
            return self._answer(method, path, query, body)
        except BadField as bad:
            return bad.answer()

    def _answer(self, method: str, path: str, query: Mapping[str, str], body: str) -> Answer:
        if method == "GET":
            read = READS.get(path)
            return read(self, dict(query)) if read else no_switch(method, path)
        handler = WRITES.get((method, path))
        if handler:
            return handler(self, read_object(body))
        collection, _, name = path.rpartition("/")
        if method == "PATCH" and collection == "/_objects/deals":
            return self._edit_deal(unquote(name), read_object(body))
        if method == "PATCH" and collection == "/_objects/payments":
            return self._edit_payment(unquote(name), read_object(body))
        return no_switch(method, path)

    def _health(self, query: Json) -> Answer:
        provider = self._provider
        held = provider.gates.held(**take_waiting(query))
        checks.demand({}, query)
        return reply(200, {"status": "ok", "pid": os.getpid(), "requests": provider.log.count(), "held": held})

    def _faults(self, query: Json) -> Answer:
        return reply(200, {"faults": self._provider.faults.shown()})

    def _settings(self, query: Json) -> Answer:
        return reply(200, dataclasses.asdict(self._provider.settings.now))

    def _requests(self, query: Json) -> Answer:
        waiting = take_waiting(query)
        for name, value in query.items():
            if name not in REQUEST_FILTERS or (name == "since" and not value.isdecimal()):
                raise BadField(name, f"Filters are {', '.join(REQUEST_FILTERS)}; since is the number of a request.")
        rows = self._provider.log.find(query, **waiting)
        return reply(200, {"count": len(rows), "requests": rows})

    def _objects(self, query: Json) -> Answer:
        waiting = take_waiting(query)
        checks.demand({"reference": checks.text}, query)
        return reply(200, self._provider.ledger.objects(query.get("reference"), **waiting))

    def _events(self, query: Json) -> Answer:
        waiting = take_waiting(query)
        checks.demand({}, query)
        return reply(200, {"events": self._provider.events.sent(**waiting)})

    def _post_fault(self, order: Json) -> Answer:
        return reply(201, self._provider.faults.post(order))

    def _clear_faults(self, order: Json) -> Answer:
        self._provider.faults.clear()
        return self._faults({})

    def _change_settings(self, values: Json) -> Answer:
        self._provider.settings.change(values)
        return self._settings({})

    def _reset_settings(self, values: Json) -> Answer:
        self._provider.settings.reset()
        return self._settings({})

    def _release(self, order: Json) -> Answer:
        checks.demand(WAITING, order)
        return reply(200, {"released": self._provider.gates.release(**order)})

    def _plant_payment(self, fields: Json) -> Answer:
        checks.demand(PLANT_PAYMENT, fields)
        return reply(201, self._provider.ledger.add_payment(Payment(new_payment(fields), time.time())))

    def _plant_deal(self, fields: Json) -> Answer:
        checks.demand(PLANT_DEAL, fields)
        return reply(201, self._provider.ledger.put_deal(new_deal(fields)))

    def _edit_deal(self, deal_id: str, changes: Json) -> Answer:
        checks.demand({**DEAL_CHECKS, "updated_by": checks.text}, changes)
        who = changes.pop("updated_by", "colleague")
        try:
            return reply(200, self._provider.ledger.edit_deal(deal_id, changes, by=who, expected=None))
        except KeyError:
            raise BadField("id", f"There is no deal {deal_id}.") from None

    def _edit_payment(self, payment_id: str, changes: Json) -> Answer:
        checks.demand({**PAYMENT_CHECKS, **STATUS, "hidden": checks.flag}, changes)
        hidden = changes.pop("hidden", None)
        shown_at = None if hidden is None else (float(10**12) if hidden else 0.0)
        try:
            return reply(200, self._provider.ledger.change_payment(payment_id, changes, shown_at))
        except KeyError:
            raise BadField("id", f"There is no payment {payment_id}.") from None

    def _send_event(self, order: Json) -> Answer:
        checks.demand({"payment": checks.text, "type": checks.text, "id": checks.text}, order)
        payment = self._provider.ledger.payment(order.get("payment", ""))
        if payment is None:
            raise BadField("payment", "There is no such payment.")
        row = self._provider.events.send(payment.data, kind=order.get("type"), event_id=order.get("id"))
        if row is None:
            raise BadField("webhook_url", "Set webhook_url first.")
        return reply(200, row)


def take_waiting(query: Json) -> dict[str, Any]:
    """Remove at_least and wait from a query and return them as numbers."""
    waiting: dict[str, Any] = {}
    for name, number in (("at_least", int), ("wait", float)):
        if name in query:
            try:
                waiting[name] = number(query.pop(name))
            except ValueError:
                raise BadField(name, f"{name} must be a number.") from None
    checks.demand(WAITING, waiting)
    return waiting


def no_switch(method: str, path: str) -> Answer:
    """There is no such admin address."""
    return error(404, "invalid_request", "no_such_switch", f"No {method} at {path}.")


READS: dict[str, Handler] = {
    "/_health": Admin._health,
    "/_faults": Admin._faults,
    "/_settings": Admin._settings,
    "/_requests": Admin._requests,
    "/_objects": Admin._objects,
    "/_events": Admin._events,
}
WRITES: dict[tuple[str, str], Handler] = {
    ("POST", "/_faults"): Admin._post_fault,
    ("DELETE", "/_faults"): Admin._clear_faults,
    ("POST", "/_settings"): Admin._change_settings,
    ("DELETE", "/_settings"): Admin._reset_settings,
    ("POST", "/_release"): Admin._release,
    ("POST", "/_objects/payments"): Admin._plant_payment,
    ("POST", "/_objects/deals"): Admin._plant_deal,
    ("POST", "/_events"): Admin._send_event,
}
