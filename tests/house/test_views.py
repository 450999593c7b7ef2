"""A view says which methods it answers: a page is only read, a change is only posted."""

import ast
import importlib
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver

from tests.house.tree import APPS, ROOT, product

METHODS = {"require_safe", "require_GET", "require_POST", "require_http_methods"}
# Answers whatever is asked where there is nothing.
ANY = {"opsconsole.views.not_here", "opsconsole.api._no_such_address"}


def patterns(found: list[Any]) -> list[URLPattern]:
    flat: list[URLPattern] = []
    for item in found:
        flat += patterns(item.url_patterns) if isinstance(item, URLResolver) else [item]
    return flat


def ours() -> set[str]:
    """The views of this product that an address leads to, without the agents' API, which declares methods itself."""
    found = [pattern.callback for pattern in patterns(get_resolver().url_patterns)]
    views = {f"{view.__module__}.{view.__qualname__}" for view in found}
    return {view for view in views if view.partition(".")[0] in APPS and "<locals>" not in view}


def test_every_view_declares_its_methods() -> None:
    assert len(ours()) > 5
    silent = []
    for view in ours() - ANY:
        module, _, name = view.rpartition(".")
        path = importlib.import_module(module).__file__
        assert path is not None
        tree = product()[path.removeprefix(f"{ROOT}/")]
        (found,) = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name]
        marks = {ast.unparse(mark).partition("(")[0] for mark in found.decorator_list}
        if not marks & METHODS:
            silent.append(view)
    assert silent == []
