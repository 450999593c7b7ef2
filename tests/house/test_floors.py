"""Imports and foreign keys go down, and the core is pure."""

import sys
from pathlib import Path

import pytest
from django.apps import apps
from importlinter.cli import lint_imports

from tests.house.tree import FLOORS, ROOT


def test_the_import_contracts_hold(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "path", [str(ROOT), *sys.path])
    assert lint_imports(config_filename=str(ROOT / "pyproject.toml"), cache_dir=str(tmp_path)) == 0


def test_foreign_keys_point_down_or_stay_on_their_floor() -> None:
    up = []
    for model in apps.get_models():
        floor = FLOORS.get(model._meta.app_label)
        for field in model._meta.get_fields():
            target = field.related_model
            if floor is None or not field.concrete or not isinstance(target, type):
                continue
            if FLOORS.get(target._meta.app_label, -1) > floor:
                up.append(f"{model.__name__}.{field.name} -> {target.__name__}")
    assert up == []


def test_every_app_of_the_product_has_its_floor() -> None:
    ours = {config.label for config in apps.get_app_configs() if Path(config.path).parent == ROOT}
    assert ours == set(FLOORS)
