"""The table of the database cache, which holds the sign-in limits that all web processes share."""

from typing import Any

from django.core.management import call_command
from django.db import migrations


def create(apps: Any, schema_editor: Any) -> None:
    """Django's own command knows the table's form; it leaves an existing one alone."""
    call_command("createcachetable", database=schema_editor.connection.alias, verbosity=0)


class Migration(migrations.Migration):
    dependencies = [("operations", "0001_initial")]

    operations = [migrations.RunPython(create, migrations.RunPython.noop)]
