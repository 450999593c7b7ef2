"""People at the console without a browser: in this process through Django's client, or over HTTP to real processes."""

import re
from html import unescape
from types import TracebackType
from typing import Any, Self

import httpx
from django.test import Client

from operations.models import User
from tests.support.web import PASSWORD

INPUT = re.compile(r'<input type="hidden" name="([a-z_]+)" value="([^"]*)"')


def signed_in(person: User, **options: Any) -> Client:
    """Django's client with this person's session."""
    client = Client(**options)
    client.force_login(person)
    return client


def hidden_fields(page: str) -> dict[str, str]:
    """The hidden fields of the forms on a page, the last of a name wins."""
    return {name: unescape(value) for name, value in INPUT.findall(page)}


def answer(client: Client, operation_id: str, verdict: str, **changes: str) -> Any:
    """Open the decision page and answer what it shows, changed as asked."""
    page = client.get(f"/decisions/{operation_id}/")
    assert page.status_code == 200, page.status_code
    return client.post(f"/decisions/{operation_id}/", {**form_of(page), "verdict": verdict, **changes})


def form_of(page: Any) -> dict[str, str]:
    """What the decision page would send by itself."""
    fields = hidden_fields(page.content.decode())
    return {name: fields[name] for name in ("payload_hash", "display_hash") if name in fields}


class Visitor:
    """One person's session at a real web server."""

    def __init__(self, url: str, person: User, password: str = PASSWORD) -> None:
        self._person, self._password = person, password
        self.http = httpx.Client(base_url=url, trust_env=False, timeout=30)

    def __enter__(self) -> Self:
        page = self.http.get("/accounts/login/")
        form = {"login": self._person.email, "password": self._password, **hidden_fields(page.text)}
        assert self.http.post("/accounts/login/", data=form).status_code == 302
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.http.close()

    @staticmethod
    def agent(url: str, key: str) -> httpx.Client:
        """An agent's HTTP client."""
        return httpx.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}, trust_env=False, timeout=30)

    def form(self, operation_id: str) -> dict[str, str]:
        """The decision page's form as it stands now."""
        page = self.http.get(f"/decisions/{operation_id}/")
        assert page.status_code == 200, page.text
        return hidden_fields(page.text)

    def post(self, operation_id: str, form: dict[str, str], verdict: str, **more: str) -> httpx.Response:
        """Send an answer; `form` may be as old as the test wants."""
        return self.http.post(f"/decisions/{operation_id}/", data={**form, "verdict": verdict, **more})
