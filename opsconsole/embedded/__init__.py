"""Runs the servers opsconsole needs on one machine: for `quickstart` and for the tests.

Production uses its own PostgreSQL, its own broker and its own process manager; nothing there imports this package.
"""
