"""From a connection's name to the two doors of its provider, with address and secret from the deployment."""

import os
from pathlib import Path
from urllib.parse import urlsplit

from django.conf import settings

from operations.core.contract import Contract
from operations.providers.generic.adapter import HttpReader, HttpWriter
from operations.providers.ports import Reader, Writer


class NotConfigured(LookupError):
    """The deployment does not say where this connection's provider is, or has no secret for it."""


def target_of(name: str) -> str:
    """The provider's address for this connection, from PROVIDER_TARGETS; raises `NotConfigured`."""
    target = settings.PROVIDER_TARGETS.get(name, "").rstrip("/")
    parts = urlsplit(target)
    if parts.scheme not in ("https", "http") or not parts.hostname or parts.query or parts.fragment or parts.username:
        raise NotConfigured(f"PROVIDER_TARGETS has no usable address for the connection {name}.")
    return target


def secret_of(reference: str) -> str:
    """The secret behind `env:NAME` or `file:/path`, read anew each time so that a rotation needs no restart."""
    kind, _, where = reference.partition(":")
    try:
        secret = os.environ[where] if kind == "env" else Path(where).read_text(encoding="utf-8").strip()
    except (KeyError, OSError):
        raise NotConfigured(f"The secret {reference} is not there.") from None
    if not secret or not secret.isprintable():
        raise NotConfigured(f"The secret {reference} is empty or not plain text.")
    return secret


def writer_for(*, name: str, credential_reference: str, contract: Contract) -> Writer:
    """The door that submits; raises `NotConfigured` before anything is sent."""
    return HttpWriter(target_of(name), secret_of(credential_reference), contract)


def reader_for(*, name: str, credential_reference: str, contract: Contract) -> Reader:
    """The door that only reads."""
    return HttpReader(target_of(name), secret_of(credential_reference), contract)
