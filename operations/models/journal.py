"""The one append-only log, chained per operation. The database numbers and hashes each entry itself."""

from django.db import models

from operations.models.operation import Operation
from operations.models.tenant import Tenant


class JournalEntry(models.Model):
    """`sequence`, `at`, `previous_hash` and `hash` are set by a trigger, whatever the writer says."""

    operation = models.ForeignKey(Operation, on_delete=models.PROTECT, related_name="journal", db_index=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+", db_index=False)
    sequence = models.PositiveIntegerField()
    at = models.DateTimeField()
    actor = models.CharField(max_length=120)
    verb = models.CharField(max_length=40)
    before = models.CharField(max_length=20, blank=True)
    after = models.CharField(max_length=20, blank=True)
    reason = models.CharField(max_length=400, blank=True)
    data = models.TextField(default="{}", help_text="Canonical JSON, hashed as it stands.")
    previous_hash = models.CharField(max_length=71)
    hash = models.CharField(max_length=71)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["operation", "sequence"], name="journal_sequence_once")]

    def __str__(self) -> str:
        return f"{self.operation_id} #{self.sequence} {self.verb}"
