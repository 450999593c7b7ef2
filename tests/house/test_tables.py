"""Names in the tables mean what they say, and every row belongs to a tenant."""

from django.apps import apps
from django.db import models

from operations.actions import ACTIONS
from tests.house.tree import FLOORS

OURS = [model for model in apps.get_models() if model._meta.app_label in FLOORS]
OF_NO_TENANT = {"Tenant", "User"}


def names(model: type[models.Model]) -> set[str]:
    return {field.name for field in model._meta.get_fields() if field.concrete}


def test_what_ends_in_at_is_a_time_and_a_time_says_that_it_is_one() -> None:
    for model in OURS:
        for field in model._meta.get_fields():
            if not isinstance(field, models.Field) or field.model is not model or field.name == "last_login":
                continue
            time = isinstance(field, models.DateTimeField)
            assert time == field.name.endswith(("_at", "_until")) or field.name == "at", (model.__name__, field.name)


def test_money_has_its_currency_beside_it_and_is_never_a_float() -> None:
    for model in OURS:
        for field in model._meta.get_fields():
            assert not isinstance(field, models.FloatField), (model.__name__, field.name)
            if field.name.endswith("_minor"):
                assert isinstance(field, models.BigIntegerField) and "currency" in names(model), model.__name__
    for action in ACTIONS.values():
        fields = action.payload.model_fields
        assert not any(name.endswith("_minor") for name in fields) or "currency" in fields, action.name


def test_every_table_carries_its_tenant() -> None:
    assert {model.__name__ for model in OURS if "tenant" not in names(model)} == OF_NO_TENANT


def test_nothing_of_the_record_is_deleted_with_what_it_hangs_on() -> None:
    for model in OURS:
        for field in model._meta.get_fields():
            if isinstance(field, models.ForeignKey) and field.model is model:
                assert field.remote_field.on_delete is models.PROTECT, (model.__name__, field.name)


def test_every_table_has_a_name_for_people() -> None:
    assert all("__str__" in model.__dict__ for model in OURS)
