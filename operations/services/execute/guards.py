"""What all three steps share."""

from django.db import connection

from operations.core.contract import Contract
from operations.core.outcomes import Answer


class InsideTransaction(RuntimeError):
    """A rollback around the call would erase the memory of a real payment (case P14)."""


def refuse_inside_transaction() -> None:
    """Raise `InsideTransaction` when the caller holds a transaction open, or would have to commit by itself."""
    if connection.in_atomic_block or not connection.get_autocommit():
        raise InsideTransaction("An outside call must not be made inside a database transaction.")


def request_id_of(contract: Contract, answer: Answer) -> str:
    """The provider's own id of this request, where the contract says which header carries it."""
    return answer.headers.get(contract.request_id_header.lower(), "")[:200] if contract.request_id_header else ""
