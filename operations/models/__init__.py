"""The ground floor's tables, one noun per file."""

from operations.models.agent import Agent, AgentKey
from operations.models.attempt import Attempt
from operations.models.connection import Connection
from operations.models.evidence import Evidence
from operations.models.intent import Intent
from operations.models.journal import JournalEntry
from operations.models.operation import Operation
from operations.models.permit import Permit
from operations.models.policy import Policy
from operations.models.stop import Stop
from operations.models.tenant import Membership, Role, Tenant
from operations.models.user import User

__all__ = [
    "Agent",
    "AgentKey",
    "Attempt",
    "Connection",
    "Evidence",
    "Intent",
    "JournalEntry",
    "Membership",
    "Operation",
    "Permit",
    "Policy",
    "Role",
    "Stop",
    "Tenant",
    "User",
]
