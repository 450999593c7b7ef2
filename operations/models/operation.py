"""The life of one intent. The only row that moves, and only through `services/transition.py`."""

from django.db import models
from django.db.models.functions import Now

from operations.core.states import FINAL, State
from operations.models.connection import Connection
from operations.models.intent import Intent
from operations.models.tenant import Tenant


class Operation(models.Model):
    """`next_step_at` is when the engine should look again; `waits_for` names the people it waits for, if any."""

    intent = models.OneToOneField(Intent, on_delete=models.PROTECT, primary_key=True, related_name="operation")
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="operations", db_index=False)
    connection = models.ForeignKey(Connection, on_delete=models.PROTECT, related_name="operations", db_index=False)
    state = models.CharField(max_length=20, default=State.NOT_STARTED)
    last_event = models.CharField(max_length=20, blank=True)
    last_actor = models.CharField(max_length=120)
    reason = models.CharField(max_length=60, blank=True)
    claim_token = models.UUIDField(null=True, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    first_sent_at = models.DateTimeField(null=True, blank=True)
    next_step_at = models.DateTimeField(null=True, blank=True)
    deadline_at = models.DateTimeField(null=True, blank=True)
    waits_for = models.CharField(max_length=10, blank=True)
    external_id = models.CharField(max_length=200, blank=True)
    creates_object = models.BooleanField()
    attempts_made = models.PositiveSmallIntegerField(default=0)
    fact = models.ForeignKey(
        "Evidence", on_delete=models.PROTECT, null=True, blank=True, related_name="+", db_index=False
    )
    created_at = models.DateTimeField(db_default=Now())
    changed_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=~models.Q(state=State.IN_PROGRESS)
                | models.Q(claim_token__isnull=False, lease_until__isnull=False),
                name="operation_in_progress_is_claimed",
            ),
            models.CheckConstraint(
                condition=~models.Q(state__in=sorted(FINAL)) | models.Q(fact__isnull=False),
                name="operation_final_needs_fact",
            ),
            models.CheckConstraint(
                condition=models.Q(state__in=sorted(FINAL))
                | models.Q(next_step_at__isnull=False)
                | ~models.Q(waits_for=""),
                name="operation_has_next_step",
            ),
            models.CheckConstraint(
                condition=models.Q(waits_for__in=["", "approver", "operator", "stop"]), name="operation_waits_for_known"
            ),
        ]
        indexes = [
            models.Index(fields=["next_step_at"], name="operation_due", condition=models.Q(next_step_at__isnull=False)),
            models.Index(fields=["tenant", "state", "-intent"], name="operation_by_state"),
        ]

    def __str__(self) -> str:
        return self.intent_id
