"""The agents' API: prepare, read, list, resume, cancel. An agent never executes, approves or resolves anything."""
