"""One call that was made or may have been made. The row is committed before its first byte leaves."""

from django.db import models
from django.db.models.functions import Now

from operations.models.operation import Operation
from operations.models.tenant import Tenant


class Attempt(models.Model):
    """`absence_credible_at`: before this moment the request may still be on its way, so "not there" proves nothing."""

    operation = models.ForeignKey(Operation, on_delete=models.PROTECT, related_name="attempts", db_index=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+", db_index=False)
    number = models.PositiveSmallIntegerField()
    claim_token = models.UUIDField()
    worker = models.CharField(max_length=120)
    permit = models.ForeignKey("Permit", on_delete=models.PROTECT, related_name="+", db_index=False)
    request_digest = models.CharField(max_length=71)
    claimed_at = models.DateTimeField(db_default=Now())
    absence_credible_at = models.DateTimeField()
    absences_needed = models.PositiveSmallIntegerField()
    finished_at = models.DateTimeField(null=True, blank=True)
    phase = models.CharField(max_length=12, blank=True)
    http_status = models.PositiveSmallIntegerField(null=True, blank=True)
    provider_request_id = models.CharField(max_length=200, blank=True)
    external_id = models.CharField(max_length=200, blank=True)
    outcome = models.CharField(max_length=20, blank=True, help_text="Empty while the call may be under way.")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["operation", "number"], name="attempt_number_once"),
            models.UniqueConstraint(fields=["operation", "claim_token"], name="attempt_per_claim"),
            models.UniqueConstraint(fields=["operation"], condition=models.Q(outcome=""), name="attempt_one_open"),
        ]

    def __str__(self) -> str:
        return f"attempt {self.number} of {self.operation_id}"
