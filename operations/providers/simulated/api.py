"""The endpoints under /v1: payments and deals."""

import itertools
import re
import time
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import unquote

from operations.providers.simulated import checks
from operations.providers.simulated.ledger import Ledger, Payment, Settlement, StaleVersion, new_payment
from operations.providers.simulated.messages import Answer, BadField, Json, Request, error, read_object, reply
from operations.providers.simulated.settings import SettingsStore

ONE_PAYMENT = re.compile(r"/v1/payments/([^/]+)")
ONE_DEAL = re.compile(r"/v1/deals/([^/]+)")
PAGE_SIZE = 100


def currency_code(value: Any) -> str | None:
    """Three capital letters."""
    good = isinstance(value, str) and re.fullmatch("[A-Z]{3}", value)
    return None if good else "three capital letters"


PAYMENT_CHECKS: dict[str, checks.Check] = {
    "amount": checks.whole(1, 10**15),
    "currency": currency_code,
    "recipient": checks.text,
    "reference": checks.text,
    "description": checks.optional(checks.any_text),
    "invoice": checks.optional(checks.any_text),
}
DEAL_CHECKS: dict[str, checks.Check] = {
    "stage": checks.text,
    "amount": checks.whole(0, 10**15),
    "owner": checks.text,
}


@dataclass(frozen=True)
class Effect:
    """How acting differs from the ordinary: how many objects, stored or not, hidden for how long, final when."""

    copies: int = 1
    forget: bool = False
    hide: float = 0
    settle_after: float | None = None
    final: str = "succeeded"
    webhook: bool = False


class Api:
    """Answers one request by reading or changing the ledger."""

    def __init__(self, ledger: Ledger, settings: SettingsStore) -> None:
        self._ledger = ledger
        self._settings = settings
        self._searches = itertools.count(1)

    def answer(self, request: Request, effect: Effect) -> Answer:
        """The answer of the API. Whatever it stores is on the disk when this returns. May raise BadField."""
        match request.method, request.path:
            case "POST", "/v1/payments":
                return self._create_payment(request, effect)
            case "GET", "/v1/payments":
                return self._list(request, None)
            case "GET", "/v1/payments/search":
                return self._search(request)
        if request.method == "GET" and (found := ONE_PAYMENT.fullmatch(request.path)):
            return self._read_payment(unquote(found[1]))
        if found := ONE_DEAL.fullmatch(request.path):
            if request.method == "GET":
                return self._read_deal(unquote(found[1]))
            if request.method == "PATCH":
                return self._change_deal(unquote(found[1]), request, effect)
        return no_route(request)

    def _create_payment(self, request: Request, effect: Effect) -> Answer:
        fields = read_object(request.text)
        checks.demand(PAYMENT_CHECKS, fields)
        for name in ("amount", "currency", "recipient", "reference"):
            if name not in fields:
                raise BadField(name, f"{name} is required.")
        now = time.time()
        pending = effect.settle_after is not None
        payment = Payment(new_payment(fields, status="processing" if pending else "succeeded"), now, now + effect.hide)
        if effect.settle_after is not None:
            due = Settlement(now + effect.settle_after, effect.final, effect.webhook)
            payment = replace(payment, settlement=due)
        if not effect.forget:
            self._ledger.add_payment(payment)
            for _ in range(effect.copies - 1):
                self._ledger.add_payment(replace(payment, data=new_payment(fields, status=payment.data["status"])))
        return reply(202 if pending else 201, payment.data)

    def _read_payment(self, payment_id: str) -> Answer:
        payment = self._ledger.payment(payment_id)
        if payment is None or payment.visible_at > time.time():
            return not_found("payment")
        return reply(200, payment.data)

    def _search(self, request: Request) -> Answer:
        settings = self._settings.now
        if settings.search_miss_every and next(self._searches) % settings.search_miss_every == 0:
            return reply(200, {"object": "list", "data": [], "has_more": False})
        return self._list(request, time.time() - settings.search_lag_seconds)

    def _list(self, request: Request, stored_before: float | None) -> Answer:
        data = self._ledger.visible(reference=request.parameter("reference"), stored_before=stored_before)
        after = request.parameter("starting_after")
        if after is not None:
            ids = [item["id"] for item in data]
            data = data[ids.index(after) + 1 :] if after in ids else []
        limit = request.parameter("limit") or str(PAGE_SIZE)
        if not limit.isdecimal() or not 1 <= int(limit) <= PAGE_SIZE:
            raise BadField("limit", f"limit must be a whole number from 1 to {PAGE_SIZE}.")
        page = data[: int(limit)]
        return reply(200, {"object": "list", "data": page, "has_more": len(data) > len(page)})

    def _read_deal(self, deal_id: str) -> Answer:
        deal = self._ledger.deal(deal_id)
        return not_found("deal") if deal is None else self._deal(deal)

    def _change_deal(self, deal_id: str, request: Request, effect: Effect) -> Answer:
        settings = self._settings.now
        changes = read_object(request.text)
        checks.demand(DEAL_CHECKS, changes)
        if not changes:
            raise BadField("body", "Nothing to change.")
        if self._ledger.deal(deal_id) is None:
            return not_found("deal")
        condition = request.headers.get("if-match")
        if condition is None and settings.require_if_match:
            return error(428, "precondition_required", "if_match_required", "Send If-Match with the deal's version.")
        expected = None if condition in (None, "*") or settings.ignore_if_match else version_in(condition)
        change = self._ledger.edited_deal if effect.forget else self._ledger.edit_deal
        try:
            return self._deal(change(deal_id, changes, by="api", expected=expected))
        except StaleVersion as stale:
            return error(412, "version_conflict", "stale_version", str(stale), current_version=stale.current)

    def _deal(self, deal: Json) -> Answer:
        tags = {"plain": '"{}"', "gzip": '"{}-gzip"', "weak": 'W/"{}"'}
        form = tags.get(self._settings.now.etag)
        return reply(200, deal, {"ETag": form.format(deal["version"])} if form else {})


def version_in(condition: str | None) -> int:
    """The version named by an If-Match header; -1, which no deal has, when it is not exactly our strong tag."""
    found = re.fullmatch(r'"(\d{1,18})"', condition or "")
    return int(found[1]) if found else -1


def not_found(what: str) -> Answer:
    """The API's own way to say that an object does not exist."""
    return error(404, "not_found", f"no_such_{what}", f"There is no such {what}.")


def no_route(request: Request) -> Answer:
    """An address or method the API does not have. Outside /v1 a gateway answers, in HTML and not in our shape."""
    if not request.path.startswith("/v1/"):
        page = b"<html><head><title>404 Not Found</title></head><body><h1>404 Not Found</h1></body></html>"
        return Answer(404, page, {"Content-Type": "text/html"})
    return error(405, "invalid_request", "no_such_route", f"No {request.method} at {request.path}.")
