"""The emergency stop, and the third kind of people an operation can wait for."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("operations", "0002_guards"),
    ]

    operations = [
        migrations.CreateModel(
            name="Stop",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "scope",
                    models.CharField(
                        choices=[
                            ("tenant", "Everything"),
                            ("action", "One action"),
                            ("provider", "One provider"),
                            ("agent", "One agent"),
                        ],
                        max_length=10,
                    ),
                ),
                ("subject", models.CharField(blank=True, max_length=80)),
                ("reason", models.CharField(max_length=400)),
                ("set_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("lift_asked_at", models.DateTimeField(blank=True, null=True)),
                ("lift_reason", models.CharField(blank=True, max_length=400)),
                ("lifted_at", models.DateTimeField(blank=True, null=True)),
            ],
        ),
        migrations.RemoveConstraint(
            model_name="operation",
            name="operation_waits_for_known",
        ),
        migrations.AddConstraint(
            model_name="operation",
            constraint=models.CheckConstraint(
                condition=models.Q(("waits_for__in", ["", "approver", "operator", "stop"])),
                name="operation_waits_for_known",
            ),
        ),
        migrations.AddField(
            model_name="stop",
            name="lift_asked_by",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="stop",
            name="lifted_by",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="stop",
            name="set_by",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="stop",
            name="tenant",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="stops",
                to="operations.tenant",
            ),
        ),
        migrations.AddConstraint(
            model_name="stop",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("scope", "tenant"), ("subject", "")),
                    models.Q(("scope__in", ["action", "provider", "agent"]), models.Q(("subject", ""), _negated=True)),
                    _connector="OR",
                ),
                name="stop_scope_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="stop",
            constraint=models.CheckConstraint(condition=models.Q(("reason", ""), _negated=True), name="stop_says_why"),
        ),
        migrations.AddConstraint(
            model_name="stop",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("lifted_at__isnull", True), ("lifted_by__isnull", True)),
                    models.Q(
                        ("lift_asked_by__isnull", False),
                        ("lifted_at__isnull", False),
                        ("lifted_by__isnull", False),
                        models.Q(("lifted_by", models.F("lift_asked_by")), _negated=True),
                    ),
                    _connector="OR",
                ),
                name="stop_lifted_by_two",
            ),
        ),
        migrations.AddConstraint(
            model_name="stop",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("lift_asked_at__isnull", True), ("lift_asked_by__isnull", True)),
                    models.Q(
                        ("lift_asked_at__isnull", False),
                        ("lift_asked_by__isnull", False),
                        models.Q(("lift_reason", ""), _negated=True),
                    ),
                    _connector="OR",
                ),
                name="stop_lift_asked_by_somebody",
            ),
        ),
        migrations.AddConstraint(
            model_name="stop",
            constraint=models.UniqueConstraint(
                condition=models.Q(("lifted_at__isnull", True)),
                fields=("tenant", "scope", "subject"),
                name="stop_once_at_a_time",
            ),
        ),
    ]
