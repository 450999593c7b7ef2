"""One account at one provider. Its secret and its address are deployment settings; here are only their names."""

from django.db import models
from django.db.models.functions import Now

from operations.models.tenant import Tenant


class Connection(models.Model):
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="connections")
    name = models.SlugField(max_length=60)
    provider = models.CharField(max_length=60)
    mode = models.CharField(max_length=10, choices=[("automatic", "Automatic"), ("manual", "Manual")])
    credential_reference = models.CharField(max_length=200, help_text="env:NAME or file:/path; never the secret.")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["tenant", "name"], name="connection_name_once"),
            models.CheckConstraint(condition=models.Q(mode__in=["automatic", "manual"]), name="connection_mode_known"),
            models.CheckConstraint(
                condition=models.Q(credential_reference__regex=r"^(env:[A-Z][A-Z0-9_]*|file:/.+)$"),
                name="connection_secret_by_reference",
            ),
        ]

    def __str__(self) -> str:
        return self.name
