"""May this person answer this, now? One question, answered with the sentence that refuses, or with nothing.

The page shows the sentence on the disabled button; the POST raises the same one. The database asks again.
"""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """What the answer is about and who wants to give it, as read a moment ago."""

    waiting: bool  # the operation has not started and its round is open
    expires_at: datetime
    shown_hash_is_current: bool
    is_approver: bool
    owns_agent: bool
    owner_may_approve: bool
    already_answered: bool
    closed_by: str = ""  # who or what closed the round, in words


def refusal_to_answer(asked: Asked, now: datetime) -> str:
    """Why this person may not answer, as a sentence; "" when they may. The end of the time itself is too late."""
    if not asked.is_approver:
        return "You are not an approver here."
    if asked.already_answered:
        return "You have already answered this."
    if not asked.waiting:
        return asked.closed_by or "It is no longer waiting for a decision."
    if now >= asked.expires_at:
        return "Its time ran out before it was decided. Nothing has been sent."
    if asked.owns_agent and not asked.owner_may_approve:
        return "You own the agent that asks, so somebody else must decide."
    if not asked.shown_hash_is_current:
        return "What you were shown is not what is stored. Open the page again."
    return ""


def refusal_to_approve(*, possible_duplicate: str, separate_effect: bool) -> str:
    """What approving needs beyond answering: a suspected duplicate is approved only as a separate effect."""
    if possible_duplicate and not separate_effect:
        return f"It looks like {possible_duplicate}. Say that this is a separate effect, or reject it."
    return ""
