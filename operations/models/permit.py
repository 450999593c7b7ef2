"""What approval leaves behind on the ground floor: these bytes may be sent once, until then."""

from django.db import models
from django.db.models.functions import Now

from operations.models.operation import Operation
from operations.models.tenant import Tenant


class Permit(models.Model):
    """Fits one operation and one hash. Written when the quorum is reached; execution reads it and asks nobody."""

    operation = models.ForeignKey(Operation, on_delete=models.PROTECT, related_name="permits", db_index=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+", db_index=False)
    round_number = models.PositiveSmallIntegerField()
    payload_hash = models.CharField(max_length=71)
    policy_version = models.CharField(max_length=100)
    granted_by = models.JSONField(help_text="Who approved, as shown: a list of names.")
    granted_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["operation"], condition=models.Q(revoked_at__isnull=True), name="permit_one_live"
            ),
            models.UniqueConstraint(fields=["operation", "round_number"], name="permit_one_per_round"),
        ]

    def __str__(self) -> str:
        return f"permit of {self.operation_id}"
