"""The programs that prepare intents. They use the HTTP API only and can never approve, execute or resolve."""

import hashlib
import secrets
from datetime import timedelta

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now
from django.utils import timezone

from operations.models.tenant import Tenant


class Agent(models.Model):
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="agents")
    name = models.CharField(max_length=80)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="owned_agents")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [models.UniqueConstraint(fields=["tenant", "name"], name="agent_name_once")]

    def __str__(self) -> str:
        return self.name


class AgentKey(models.Model):
    """One credential of an agent. Only the sha256 is kept: the key has 256 random bits, so no salt is needed."""

    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+")
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="keys")
    prefix = models.CharField(max_length=24, unique=True)
    key_hash = models.CharField(max_length=64)
    actions = ArrayField(models.CharField(max_length=80), help_text="Actions it may prepare.")
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return f"{self.prefix}…"

    @staticmethod
    def hash_of(key: str) -> str:
        return hashlib.sha256(key.encode()).hexdigest()

    @classmethod
    def issue(cls, agent: Agent, *, actions: list[str], days: int) -> str:
        """Make a key for these actions. What is returned is its only copy."""
        key = f"ops_live_{secrets.token_hex(4)}_{secrets.token_urlsafe(32)}"
        cls.objects.create(
            tenant=agent.tenant,
            agent=agent,
            prefix=key[:17],
            key_hash=cls.hash_of(key),
            actions=actions,
            expires_at=timezone.now() + timedelta(days=days),
        )
        return key
