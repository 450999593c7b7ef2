"""Triggers and constraints that hold the invariants; see the SQL for what and why."""

from pathlib import Path

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("operations", "0001_initial")]

    operations = [
        # No way back: a database without its guards is not a state this product has.
        migrations.RunSQL((Path(__file__).parent / "sql" / "0002_guards.sql").read_text(encoding="utf-8")),
    ]
