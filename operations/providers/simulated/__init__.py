"""A provider that runs as its own process, fails on demand and counts what arrived.

Start it with ``python -m operations.providers.simulated --data DIR``. It writes each request to ``requests.jsonl``
before it acts and keeps its objects in ``ledger.jsonl``, so both survive the death of any other process and its own.
It uses the standard library only, listens on loopback only, and follows nothing it is told by others.

The modules, from the wire inwards: ``server`` (sockets), ``engine`` (the order of things for one request), ``faults``
and ``catalogue`` (what goes wrong), ``keys`` (idempotency), ``api`` (payments and deals), ``ledger``, ``request_log``,
``events`` (webhooks), ``admin`` (the switches) and ``settings``.
"""
