"""A function fits in 40 lines, a module in 300, a template in 120; a test may take 60. All of them, no band."""

import ast

import pytest

from tests.house.tree import ROOT, functions, lines_of, product, suite, templates


def too_long(modules: dict[str, ast.Module], limit: int) -> dict[str, int]:
    return {
        f"{name}:{node.lineno} {node.name}": lines_of(node)
        for name, tree in modules.items()
        for node in functions(tree)
        if lines_of(node) > limit
    }


def test_every_function_of_the_product_fits_in_40_lines() -> None:
    assert too_long(product(), 40) == {}


def test_every_test_and_every_function_for_tests_fits_in_60_lines() -> None:
    assert too_long(suite(), 60) == {}


@pytest.mark.parametrize("kind", ["product", "tests"])
def test_every_module_fits_in_300_lines(kind: str) -> None:
    modules = product() if kind == "product" else suite()
    lengths = {name: len((ROOT / name).read_text("utf-8").splitlines()) for name in modules}
    assert {name: length for name, length in lengths.items() if length > 300} == {}


def test_every_template_fits_in_120_lines() -> None:
    lengths = {name: len(text.splitlines()) for name, text in templates().items()}
    assert {name: length for name, length in lengths.items() if length > 120} == {}


def test_every_module_that_others_read_says_what_it_is() -> None:
    silent = [
        name for name, tree in product().items()
        if tree.body and not ast.get_docstring(tree) and not name.endswith(("__init__.py", "manage.py", "/apps.py"))
    ]  # fmt: skip
    assert silent == []
