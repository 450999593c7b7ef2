"""Celery as a doorbell: it carries operation ids, and nothing depends on whether, when or how often they arrive."""

import os
from pathlib import Path

from celery import Celery
from celery.signals import celeryd_init, worker_ready

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "opsconsole.settings")

app = Celery("opsconsole")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["opsconsole.engine"])


@celeryd_init.connect
def refuse_unsafe_start(**_: object) -> None:
    """Look at settings and database before the first message is taken."""
    import django

    django.setup()
    from opsconsole.checks import refuse_unsafe

    refuse_unsafe()


@worker_ready.connect
def say_ready(**_: object) -> None:
    """Tell whoever started this worker that it listens now."""
    if ready_file := os.environ.get("OPSCONSOLE_READY_FILE"):
        Path(ready_file).write_text(str(os.getpid()))
