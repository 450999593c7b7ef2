"""Any JSON-over-HTTP provider, from a contract file alone."""
