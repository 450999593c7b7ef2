"""What is written about an operation belongs to its tenant, and no secret is stored (invariant 9, in the database)."""

import pytest

from tests.guards.attack import assert_refused, one
from tests.support.tenant import World


@pytest.mark.parametrize("reference", ["sk" + "_live_in_the_open", "env:lower", "file:relative", "env:", "vault:x", ""])
def test_a_connection_names_its_secret_and_never_holds_it(world: World, reference: str) -> None:
    assert_refused(
        "connection_secret_by_reference", "UPDATE operations_connection SET credential_reference = %s", [reference]
    )
    assert one("SELECT count(*) FROM operations_connection WHERE credential_reference LIKE 'env:%%'") >= 2
