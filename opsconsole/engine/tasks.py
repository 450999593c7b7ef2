"""What a ring does. The task's id, its number of deliveries and its result mean nothing."""

from celery import shared_task
from django.db import close_old_connections

from opsconsole.engine.drain import carry_on_safely, drain


@shared_task(name="opsconsole.resume", ignore_result=True, max_retries=0)
def resume(operation_id: str) -> None:
    """Carry on this operation, then whatever else is due."""
    close_old_connections()  # one that broke in an earlier task would otherwise fail all later ones
    carry_on_safely(operation_id)
    drain(limit=50)
