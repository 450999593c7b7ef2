"""What was meant: the exact bytes, stored before any pause. Rows are only ever inserted."""

from django.db import models
from django.db.models.functions import Now

from operations.models.agent import Agent
from operations.models.connection import Connection
from operations.models.policy import Policy
from operations.models.tenant import Tenant


class Intent(models.Model):
    """`canonical` decides. Every other column is a copy for searching and showing, and just as unchangeable."""

    operation_id = models.CharField(primary_key=True, max_length=29)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="intents", db_index=False)
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="intents", db_index=False)
    connection = models.ForeignKey(Connection, on_delete=models.PROTECT, related_name="intents", db_index=False)
    policy = models.ForeignKey(Policy, on_delete=models.PROTECT, related_name="intents", db_index=False)
    action = models.CharField(max_length=80)
    canonical = models.BinaryField()
    payload_hash = models.CharField(max_length=71)
    policy_version = models.CharField(max_length=100)
    contract = models.CharField(max_length=120)
    contract_digest = models.CharField(max_length=71)
    target = models.CharField(max_length=300)
    data_version = models.CharField(max_length=200, blank=True)
    client_reference = models.CharField(max_length=200)
    content_hash = models.CharField(max_length=71)
    idempotency_key = models.CharField(max_length=60)
    business_key = models.CharField(max_length=300, blank=True)
    replaces = models.ForeignKey(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="replaced_by", db_index=False
    )
    separate_effect = models.BooleanField(default=False)
    rationale = models.TextField(blank=True)
    amount_minor = models.BigIntegerField(null=True, blank=True)
    currency = models.CharField(max_length=3, blank=True)
    counterparty = models.CharField(max_length=200, blank=True)
    business_reference = models.CharField(max_length=200, blank=True)
    prepared_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["tenant", "agent", "client_reference"], name="intent_reference_once"),
            models.UniqueConstraint(fields=["connection", "idempotency_key"], name="intent_key_once"),
            models.CheckConstraint(
                condition=models.Q(operation_id__regex=r"^op_[0-7][0-9A-HJKMNP-TV-Z]{25}$"), name="intent_id_form"
            ),
        ]
        indexes = [
            models.Index(
                fields=["tenant", "business_key"], name="intent_business_key", condition=~models.Q(business_key="")
            ),
            models.Index(fields=["replaces"], name="intent_replaced", condition=models.Q(replaces__isnull=False)),
            models.Index(fields=["tenant", "-operation_id"], name="intent_newest"),
        ]

    def __str__(self) -> str:
        return self.operation_id
