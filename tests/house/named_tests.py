"""Tables in documents that name tests, and whether those tests exist."""

import ast
import re

from tests.house.tree import ROOT, functions, suite

NAMED = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")
FOLDER = re.compile(r"`(tests/[\w/]+)/?`")


def table_rows(document: str, heading: str) -> list[list[str]]:
    """The cells of the table under that head row; [] when the document has none."""
    lines = (ROOT / document).read_text("utf-8").splitlines()
    if heading not in lines:
        return []
    rows = []
    for line in lines[lines.index(heading) + 2 :]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split(" | ")])
    return rows


def named(cell: str) -> list[tuple[str, str]]:
    """The tests a cell names: path and function, "" for the whole module."""
    return NAMED.findall(cell)


def exists(path: str, function: str) -> bool:
    """Whether that test is there."""
    module: ast.Module | None = suite().get(path)
    if module is None:
        return False
    return not function or function in {node.name for node in functions(module)}
