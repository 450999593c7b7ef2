"""A rule enters CONTRIBUTING.md together with the test that keeps it."""

from tests.house.named_tests import FOLDER, exists, named, table_rows
from tests.house.tree import ROOT

CONVENTIONS = "| n | convention | kept by |"


def test_the_conventions_are_numbered_from_one() -> None:
    numbers = [row[0] for row in table_rows("CONTRIBUTING.md", CONVENTIONS)]
    assert numbers and numbers == [str(number) for number in range(1, len(numbers) + 1)]


def test_every_convention_names_a_test_that_exists() -> None:
    for number, *_, cell in table_rows("CONTRIBUTING.md", CONVENTIONS):
        folders = [folder for folder in FOLDER.findall(cell) if not folder.endswith(".py")]
        assert named(cell) or folders, f"convention {number} names no test"
        assert [f"{path}::{function}" for path, function in named(cell) if not exists(path, function)] == []
        assert [folder for folder in folders if not (ROOT / folder).is_dir()] == []


def test_every_folder_of_tests_is_explained() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    here = {path.parent.name for path in (ROOT / "tests").glob("*/test_*.py")}
    assert {name for name in here if f"`tests/{name}`" not in text} == set()
