"""The loop: gather the facts of one operation, ask the core, carry out one command, stop."""
