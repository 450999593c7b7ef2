"""Wiring: settings, addresses, the engine's loop, home."""

from opsconsole.celery import app as celery_app

__all__ = ["celery_app"]
