"""Assembles the agents' API: the routes of the ground floor, standing on the doors of the floors above.

Mounted at /api/v1/, described at /api/v1/openapi.json. Every answer that refuses is a problem, also those that
are given before a route is reached; nothing is cached; a browser's session has no meaning here.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import URLPattern, URLResolver, re_path
from django.views.decorators.csrf import csrf_exempt
from ninja import NinjaAPI
from ninja.errors import HttpError
from ninja.errors import ValidationError as BadParameters
from ninja.openapi.schema import OpenAPISchema

from approvals.summary import standing, summaries
from operations.api.doors import Doors
from operations.api.problems import CODE_OF, MEDIA_TYPE, Problem, answer, on_exception
from operations.api.routes import router
from opsconsole.engine import intake

DESCRIPTION = """Prepare an action, let a person approve exactly that, read what became of it.

An agent's calls never execute anything: they store, read, wake the worker or withdraw. Bodies are strict JSON: no
duplicate keys, no floats, no unknown fields. Refusals are application/problem+json with a stable `code`; whatever
happened to a request, prepare it again with the same client_reference and it is the same operation."""

type View = Callable[..., HttpResponseBase]


class AgentsApi(NinjaAPI):
    """Says in the description, too, that refusals have a media type of their own."""

    def get_openapi_schema(self, **options: Any) -> OpenAPISchema:
        schema = super().get_openapi_schema(**options)
        for path in schema["paths"].values():
            for operation in path.values():
                for status, response in operation["responses"].items():
                    if int(status) >= 400:
                        response["content"] = {MEDIA_TYPE: response["content"].popitem()[1]}
        return schema


api = AgentsApi(
    title="opsconsole agents' API",
    version="1",
    description=DESCRIPTION,
    docs_url=None,
    urls_namespace="agents-api",
)
for raised in (Exception, Http404, HttpError, BadParameters):  # all that the library would answer in its own way
    api.add_exception_handler(raised, on_exception)
api.add_router("", router(Doors(take_in=intake.take_in, cancel=intake.cancel, approvals=summaries, standing=standing)))


def _as_problems(view: View) -> View:
    """The framework's own refusals (no such method, no such address) in the API's form; and no answer is cached."""

    @wraps(view)
    def answered(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            response = view(request, *args, **kwargs)
        except Exception as error:  # noqa: BLE001  # every refusal of the API is a problem, whatever raised it
            response = on_exception(request, error)
        if response.status_code >= 400 and response["Content-Type"] != MEDIA_TYPE:
            allow = response.get("Allow", "")
            code = CODE_OF.get(response.status_code, "refused")
            response = answer(Problem(response.status_code, code, f"{response.reason_phrase}."))
            if allow:
                response["Allow"] = allow
        response["Cache-Control"] = "no-store"
        return response

    return answered


@csrf_exempt
def _no_such_address(request: HttpRequest) -> HttpResponse:
    raise Http404


def _urls() -> tuple[list[URLPattern | URLResolver], str, str]:
    patterns, app_name, namespace = api.urls
    *routes, root = [
        URLPattern(item.pattern, _as_problems(item.callback), item.default_args, item.name)
        for item in patterns
        if isinstance(item, URLPattern)
    ]
    return [*routes, re_path(r"", _as_problems(_no_such_address)), root], app_name, namespace


urls = _urls()
