"""Who was asked, and what each person answered."""

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from operations.models import Operation, Tenant


class ApprovalRound(models.Model):
    """One request for approval of one hash. Closed once: approved, rejected, expired or withdrawn."""

    class Status(models.TextChoices):
        OPEN = "open", "Open"
        APPROVED = "approved", "Approved"
        REJECTED = "rejected", "Rejected"
        EXPIRED = "expired", "Expired"
        WITHDRAWN = "withdrawn", "Withdrawn"

    operation = models.ForeignKey(Operation, on_delete=models.PROTECT, related_name="rounds", db_index=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+", db_index=False)
    number = models.PositiveSmallIntegerField()
    payload_hash = models.CharField(max_length=71)
    policy_version = models.CharField(max_length=100)
    quorum = models.PositiveSmallIntegerField()
    status = models.CharField(max_length=10, choices=Status, default=Status.OPEN)
    opened_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["operation", "number"], name="round_number_once"),
            models.UniqueConstraint(fields=["operation"], condition=models.Q(status="open"), name="round_one_open"),
            models.CheckConstraint(
                condition=models.Q(status="open", closed_at__isnull=True)
                | (~models.Q(status="open") & models.Q(closed_at__isnull=False)),
                name="round_closed_when_closed",
            ),
        ]
        indexes = [
            models.Index(fields=["tenant", "expires_at"], name="round_open", condition=models.Q(status="open")),
        ]

    def __str__(self) -> str:
        return f"round {self.number} of {self.operation_id}"


class Decision(models.Model):
    """One person's word about one hash, as they saw it. Never changed, never deleted."""

    class Verdict(models.TextChoices):
        APPROVE = "approve", "Approved"
        REJECT = "reject", "Rejected"

    round = models.ForeignKey(ApprovalRound, on_delete=models.PROTECT, related_name="decisions", db_index=False)
    operation = models.ForeignKey(Operation, on_delete=models.PROTECT, related_name="+", db_index=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+", db_index=False)
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="decisions", db_index=False
    )
    verdict = models.CharField(max_length=10, choices=Verdict)
    payload_hash = models.CharField(max_length=71)
    display_hash = models.CharField(max_length=71, help_text="sha256 of what the page showed.")
    reason = models.TextField(blank=True)
    presence = models.CharField(max_length=20, default="session", help_text="How the person proved to be there.")
    separate_effect = models.BooleanField(default=False)
    decided_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["round", "person"], name="decision_once_per_person"),
            models.CheckConstraint(
                condition=models.Q(verdict__in=["approve", "reject"]), name="decision_verdict_known"
            ),
            models.CheckConstraint(
                condition=~models.Q(verdict="reject") | ~models.Q(reason=""), name="decision_reject_says_why"
            ),
        ]
        indexes = [models.Index(fields=["tenant", "-decided_at"], name="decision_newest")]

    def __str__(self) -> str:
        return f"{self.verdict} by {self.person_id} in round {self.round_id}"
