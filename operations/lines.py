"""One operation in one line, for every list: what it is, for how much, through what."""

import json
from dataclasses import dataclass

from operations.actions import ACTIONS
from operations.actions.money import amount_in_words
from operations.display import visible
from operations.models import Intent


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """Texts come from outside and are safe to show: hidden characters are written as escapes."""

    operation_id: str
    title: str  # Pay Vendor 77 LLP
    detail: str  # inv_9182 · bank-main
    amount: str  # KZT 12 500.00, or "" where nothing is paid
    action: str  # Payment
    agent: str


def line_of(intent: Intent) -> Line:
    """The line of this intent; reads its agent and connection, so select them with it."""
    action = ACTIONS[intent.action]
    payload = json.loads(bytes(intent.canonical))["payload"]
    parts = [intent.business_reference, intent.connection.name]
    return Line(
        operation_id=intent.operation_id,
        title=visible(action.title(payload)),
        detail=" · ".join(visible(part) for part in parts if part),
        amount="" if intent.amount_minor is None else amount_in_words(intent.amount_minor, intent.currency),
        action=action.label,
        agent=visible(intent.agent.name),
    )
