"""Everything `decide` may know about one operation, gathered by the engine in one reading of the database."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from operations.core.contract import Autonomy
from operations.core.states import State


class Approval(StrEnum):
    """Where the newest approval round stands."""

    NONE = "none"
    OPEN = "open"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"


@dataclass(frozen=True, kw_only=True, slots=True)
class PermitFacts:
    """What a person allowed: these bytes, under this policy, until then (the end itself is too late)."""

    payload_hash: str
    policy_version: str
    expires_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Facts:
    """One operation as it stands now."""

    state: State
    stored_hash: str  # the hash written at prepare
    computed_hash: str  # sha256 of the stored bytes, computed now
    policy_version: str
    policy_in_force: str
    binding_intact: bool  # contract and target are still those in the approved bytes
    autonomy: Autonomy
    can_look_up: bool
    refusal_to_send_again: str  # "" when a proved absence would allow another call
    approval: Approval = Approval.NONE
    approval_expires_at: datetime | None = None
    permit: PermitFacts | None = None
    stopped: bool = False  # an emergency stop holds it
    attempts: int = 0
    may_have_been_sent: bool = False  # some attempt got past "no byte left"
    lease_until: datetime | None = None
    next_look_at: datetime | None = None
    deadline_at: datetime | None = None
    look_ups_used: int = 0
    look_up_budget: int = 0
    absence_proved: bool = False  # enough agreeing reads say it is not there, under the contract's rule
    case_open: bool = False
    says_it_is_there: bool = False  # evidence of an object although a call would be allowed (a late answer)
    follow_up: str = ""  # the kind of case that the reason of this state calls for and nobody has opened yet
