"""The emergency stop: nothing new is sent while one holds. One person sets it, two lift it."""

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from operations.models.tenant import Tenant


class Stop(models.Model):
    """Holds what fits its scope, from the claim to the last look before sending. Look-ups go on."""

    class Scope(models.TextChoices):
        TENANT = "tenant", "Everything"
        ACTION = "action", "One action"
        PROVIDER = "provider", "One provider"
        AGENT = "agent", "One agent"

    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="stops", db_index=False)
    scope = models.CharField(max_length=10, choices=Scope)
    subject = models.CharField(max_length=80, blank=True)
    reason = models.CharField(max_length=400)
    set_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", db_index=False)
    set_at = models.DateTimeField(db_default=Now())
    lift_asked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+", db_index=False
    )
    lift_asked_at = models.DateTimeField(null=True, blank=True)
    lift_reason = models.CharField(max_length=400, blank=True)
    lifted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+", db_index=False
    )
    lifted_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(scope="tenant", subject="")
                | (models.Q(scope__in=["action", "provider", "agent"]) & ~models.Q(subject="")),
                name="stop_scope_known",
            ),
            models.CheckConstraint(condition=~models.Q(reason=""), name="stop_says_why"),
            models.CheckConstraint(
                condition=models.Q(lifted_at__isnull=True, lifted_by__isnull=True)
                | (
                    models.Q(lifted_at__isnull=False, lifted_by__isnull=False, lift_asked_by__isnull=False)
                    & ~models.Q(lifted_by=models.F("lift_asked_by"))
                ),
                name="stop_lifted_by_two",
            ),
            models.CheckConstraint(
                condition=models.Q(lift_asked_by__isnull=True, lift_asked_at__isnull=True)
                | (models.Q(lift_asked_by__isnull=False, lift_asked_at__isnull=False) & ~models.Q(lift_reason="")),
                name="stop_lift_asked_by_somebody",
            ),
            models.UniqueConstraint(
                fields=["tenant", "scope", "subject"],
                condition=models.Q(lifted_at__isnull=True),
                name="stop_once_at_a_time",
            ),
        ]

    def __str__(self) -> str:
        return f"stop {self.pk} of {self.subject or 'everything'}"
