"""execute: claim, call, record. Two short transactions with one call between them.

1. `claim` commits *in progress*, a new token, a lease by the database clock and the attempt row, before anything else.
2. `call` looks once more whether everything still holds, then sends once.
3. `record` says what the answer proves: evidence, journal and state in one transaction, conditional on the token.

A crash is a function that was not called: after 1 or 2 the lease runs out and the provider is asked. A worker that
lost its claim can leave evidence and nothing else.
"""

from operations.services.execute.call import call
from operations.services.execute.claim import Claim, ClaimRefused, claim
from operations.services.execute.guards import InsideTransaction
from operations.services.execute.record import lose, record

__all__ = ["Claim", "ClaimRefused", "InsideTransaction", "call", "claim", "lose", "record"]
