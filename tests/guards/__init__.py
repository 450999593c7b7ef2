"""The invariants, attacked with raw SQL on the real database. Each attack names the rule that refuses it, and proves
that nothing changed; a control beside it proves that the honest way still works."""
