"""Contracts with the outside: the simulated provider, and every adapter against it."""
