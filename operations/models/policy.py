"""Who must agree, and for how long their word holds. A version never changes; a new rule is a new row."""

from django.db import models
from django.db.models.functions import Now

from operations.models.tenant import Tenant


class Policy(models.Model):
    """The rules of one action. `limits` maps a currency to the largest amount in minor units; {} sets no limit."""

    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="policies")
    action = models.CharField(max_length=80)
    version = models.PositiveIntegerField()
    quorum = models.PositiveSmallIntegerField(default=1)
    approval_seconds = models.PositiveIntegerField(default=4 * 3600)
    limits = models.JSONField(default=dict, blank=True)
    owner_may_approve = models.BooleanField(default=False)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["tenant", "action", "version"], name="policy_version_once"),
            models.CheckConstraint(condition=models.Q(quorum__gte=1), name="policy_needs_a_person"),
            models.CheckConstraint(condition=models.Q(approval_seconds__gte=1), name="policy_lifetime_positive"),
        ]

    def __str__(self) -> str:
        return self.cited

    @property
    def cited(self) -> str:
        """What people and intents call this version, e.g. payments.create-v3."""
        return f"{self.action}-v{self.version}"
