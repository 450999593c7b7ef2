"""Triggers that make a stop hold, and keep it until two people lift it."""

from pathlib import Path

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("operations", "0003_stop")]

    operations = [
        # No way back: a database without its guards is not a state this product has.
        migrations.RunSQL((Path(__file__).parent / "sql" / "0004_stop.sql").read_text(encoding="utf-8")),
    ]
