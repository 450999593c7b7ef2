"""What was learned, and what it proves. Rows are only ever inserted."""

from django.db import models
from django.db.models.functions import Now

from operations.core.outcomes import Verdict
from operations.models.operation import Operation
from operations.models.tenant import Tenant


class Source(models.TextChoices):
    RESPONSE = "response", "the provider's answer"
    LATE_RESPONSE = "late_response", "an answer to a worker that had lost its claim"
    LOOK_UP = "look_up", "a look-up at the provider"
    OPERATOR = "operator", "an operator"
    APPROVER = "approver", "an approver"
    AGENT = "agent", "the agent"
    ENGINE = "engine", "a rule"


class Evidence(models.Model):
    """`result` holds the normalised values of the object, never a body; `asked_at` is when the question left us."""

    operation = models.ForeignKey(Operation, on_delete=models.PROTECT, related_name="evidence", db_index=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+", db_index=False)
    attempt_number = models.PositiveSmallIntegerField(null=True, blank=True)
    source = models.CharField(max_length=15, choices=Source)
    verdict = models.CharField(max_length=15)
    reason = models.CharField(max_length=60)
    words = models.CharField(max_length=400)
    result = models.JSONField(default=list, blank=True)
    external_id = models.CharField(max_length=200, blank=True)
    http_status = models.PositiveSmallIntegerField(null=True, blank=True)
    provider_request_id = models.CharField(max_length=200, blank=True)
    raw_digest = models.CharField(max_length=71, blank=True)
    asked_at = models.DateTimeField(db_default=Now())
    recorded_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(source__in=Source.values), name="evidence_source_known"),
            models.CheckConstraint(
                condition=models.Q(verdict__in=[v.value for v in Verdict]), name="evidence_verdict_known"
            ),
        ]
        indexes = [models.Index(fields=["operation", "id"], name="evidence_of_operation")]

    def __str__(self) -> str:
        return f"{self.source} about {self.operation_id}: {self.verdict}"
