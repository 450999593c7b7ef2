"""The repository as the house tests see it: its product modules, its tests, its templates, parsed once."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
APPS = ("operations", "approvals", "reconciliation", "opsconsole")
FLOORS = {name: floor for floor, name in enumerate(APPS)}
GENERATED = "migrations/0001_"
type Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def product() -> dict[str, ast.Module]:
    """Every module of the product by its path, without generated migrations."""
    paths = [path for app in APPS for path in (ROOT / app).rglob("*.py")] + [ROOT / "manage.py"]
    return {name: tree for name, tree in _parsed(paths).items() if GENERATED not in name}


@cache
def suite() -> dict[str, ast.Module]:
    """Every module of the tests and the benchmarks by its path."""
    return _parsed([path for folder in ("tests", "bench") for path in (ROOT / folder).rglob("*.py")])


@cache
def templates() -> dict[str, str]:
    """Every template by its path."""
    return {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in sorted((ROOT / "templates").rglob("*.*"))}


@cache
def texts() -> dict[str, str]:
    """Every text file of the project: what is neither hidden, installed nor generated, and the files of `.ci`."""
    found = {}
    for path in sorted(_walk(ROOT)):
        try:
            found[str(path.relative_to(ROOT))] = path.read_text("utf-8")
        except UnicodeDecodeError:
            continue
    return found


def functions(tree: ast.Module) -> Iterator[Function]:
    """Every function and method, nested ones too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def imports(tree: ast.Module) -> Iterator[str]:
    """Every imported module and name, dotted."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{name.name}" for name in node.names)


def calls(tree: ast.AST) -> Iterator[tuple[str, ast.Call]]:
    """Every call with what is called, as it is written: `move`, `writer.submit`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node


def lines_of(node: Function) -> int:
    """How long a function is, from its `def` to its last line."""
    return (node.end_lineno or node.lineno) - node.lineno + 1


def _parsed(paths: list[Path]) -> dict[str, ast.Module]:
    return {str(path.relative_to(ROOT)): ast.parse(path.read_text("utf-8")) for path in sorted(paths)}


def _walk(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        hidden = path.name.startswith(".") and path.name not in (".ci", ".gitignore", ".python-version")
        if hidden or path.name in ("__pycache__", "uv.lock", "htmlcov", "staticfiles", "test-results"):
            continue
        if path.is_dir():
            yield from _walk(path)
        else:
            yield path
