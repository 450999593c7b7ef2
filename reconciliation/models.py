"""What was asked at the provider, what stands in front of a person, and how a person settled it."""

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from operations.models import Evidence, Operation, Tenant


class LookUp(models.Model):
    """One read at the provider. What it proves is its evidence; here is how and for whom it was asked."""

    operation = models.ForeignKey(Operation, on_delete=models.PROTECT, related_name="look_ups")
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+", db_index=False)
    evidence = models.OneToOneField(Evidence, on_delete=models.PROTECT, related_name="look_up")
    way = models.CharField(max_length=20)
    asked_by = models.CharField(max_length=120)
    credible = models.BooleanField(help_text="Asked late enough for an absence to count.")
    counted = models.BooleanField(help_text="Got a real answer, so it used up budget.")

    def __str__(self) -> str:
        return f"{self.way} about {self.operation_id}"


class Case(models.Model):
    """A doubt that stands in front of a person. One open case per operation and kind."""

    class Kind(models.TextChoices):
        UNKNOWN = "unknown", "Outcome unknown"
        DISPUTED = "disputed", "Several found, or other values"
        RESEND = "resend", "Not there, and may not be sent again alone"
        MANUAL = "manual", "A person acts at the provider"
        INTEGRITY = "integrity", "The stored bytes do not fit the approval"
        VERSION_CONFLICT = "version_conflict", "The record changed meanwhile"
        CONFIGURATION = "configuration", "The connection is not set up right"
        CONTRADICTION = "contradiction", "The provider contradicts what is on record"

    operation = models.ForeignKey(Operation, on_delete=models.PROTECT, related_name="cases")
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+", db_index=False)
    kind = models.CharField(max_length=20, choices=Kind)
    why = models.CharField(max_length=400)
    opened_at = models.DateTimeField(db_default=Now())
    claimed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    claimed_until = models.DateTimeField(null=True, blank=True)
    closed_at = models.DateTimeField(null=True, blank=True)
    closed_because = models.CharField(max_length=400, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["operation", "kind"], condition=models.Q(closed_at__isnull=True), name="case_one_open_per_kind"
            ),
        ]
        indexes = [
            models.Index(fields=["tenant", "opened_at"], name="case_open", condition=models.Q(closed_at__isnull=True)),
        ]

    def __str__(self) -> str:
        return f"case {self.pk}: {self.kind} of {self.operation_id}"


class Resolution(models.Model):
    """A person's word on one case, with the reference that backs it. Never changed, never deleted."""

    class Verdict(models.TextChoices):
        HAPPENED = "happened", "It happened"
        DID_NOT_HAPPEN = "did_not_happen", "It did not happen"
        MAY_RETRY = "may_retry", "It did not happen and may be sent again"
        NOTED = "noted", "Seen; what is on record stands"

    case = models.OneToOneField(Case, on_delete=models.PROTECT, related_name="resolution")
    operation = models.ForeignKey(Operation, on_delete=models.PROTECT, related_name="resolutions")
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+", db_index=False)
    verdict = models.CharField(max_length=15, choices=Verdict)
    reason = models.TextField()
    evidence_reference = models.CharField(max_length=300)
    external_id = models.CharField(max_length=200, blank=True)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="resolutions")
    confirmed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    resolved_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=~models.Q(reason="") & ~models.Q(evidence_reference=""), name="resolution_says_why"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.verdict} for case {self.case_id}"
