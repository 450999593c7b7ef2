"""Start-up refuses what is unsafe in production. One check, one reason, one way out."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register, run_checks
from django.db import connection
from django.db.utils import OperationalError

from operations.providers.contract_files import BadContract
from operations.providers.registry import contracts

GUARDED = {
    "operations_intent": {"append_only", "append_only_truncate"},
    "operations_evidence": {"append_only", "append_only_truncate", "stamp"},
    "operations_journalentry": {"append_only", "append_only_truncate", "chain"},
    "operations_policy": {"append_only", "append_only_truncate"},
    "operations_operation": {
        "guard",
        "guard_insert",
        "guard_settlement",
        "guard_stopped",
        "journal",
        "journal_prepared",
        "never_deleted",
    },
    "operations_stop": {"guard", "never_deleted"},
    "operations_connection": {"guard"},
    "operations_attempt": {"guard", "never_deleted"},
    "operations_permit": {"guard", "guard_insert", "never_deleted"},
    "approvals_decision": {"append_only", "append_only_truncate", "guard"},
    "approvals_approvalround": {"guard", "never_deleted"},
    "reconciliation_lookup": {"append_only", "append_only_truncate"},
    "reconciliation_case": {"guard", "never_deleted"},
    "reconciliation_resolution": {"append_only", "append_only_truncate", "guard"},
}


class UnsafeStart(RuntimeError):
    """This installation must not serve or send as it is set up; the message says what to change."""


@register(Tags.security)
def settings_are_safe(app_configs: Sequence[AppConfig] | None = None, **_: Any) -> list[CheckMessage]:
    """What can be seen without a database. Demo and test modes may run on http with the simulated provider."""
    problems: list[CheckMessage] = []
    if settings.DEBUG:
        problems.append(Error("DEBUG is on: error pages would show what must stay inside.", id="opsconsole.E001"))
    try:
        contracts()
    except BadContract as bad:
        problems.append(Error(f"A provider's contract cannot be used: {bad}", id="opsconsole.E007"))
    if settings.MODE != "production":
        return problems
    if settings.SECRET_KEY.startswith("unset") or len(settings.SECRET_KEY) < 40:
        problems.append(Error("SECRET_KEY is missing or short. Set 40 random characters.", id="opsconsole.E002"))
    if not settings.PUBLIC_URL.startswith("https://"):
        problems.append(Error("PUBLIC_URL must begin with https://.", id="opsconsole.E003"))
    if not settings.ALLOWED_HOSTS or "*" in settings.ALLOWED_HOSTS:
        problems.append(Error("ALLOWED_HOSTS must name the hosts, without *.", id="opsconsole.E004"))
    for name, target in settings.PROVIDER_TARGETS.items():
        if urlsplit(target).scheme != "https":
            problems.append(Error(f"PROVIDER_TARGETS: {name} is not https.", id="opsconsole.E005"))
    if settings.LEASE_SECONDS <= settings.PROVIDER_TOTAL_SECONDS + settings.LEASE_MARGIN_SECONDS:
        problems.append(
            Error("LEASE_SECONDS must be longer than a whole call and its margin together.", id="opsconsole.E006")
        )
    return problems


def database_problems() -> list[CheckMessage]:
    """What only the database can tell: durable commits, its version, and every guard in place and switched on.

    Not registered with Django's own checks, because `migrate` runs those before it brings the guards.
    """
    try:
        return _database_problems()
    except OperationalError:
        return [Error("The database does not answer.", id="opsconsole.E010")]


def refuse_unsafe() -> None:
    """Called when a web server, worker or sweep starts; raises `UnsafeStart` with every reason at once."""
    problems = [*run_checks(tags=[Tags.security]), *database_problems()]
    serious = [problem.msg for problem in problems if problem.is_serious()]
    if serious:
        raise UnsafeStart("Not started, because: " + " ".join(serious))


def _database_problems() -> list[CheckMessage]:
    problems: list[CheckMessage] = []
    with connection.cursor() as cursor:
        for setting in ("fsync", "synchronous_commit", "full_page_writes"):
            cursor.execute("SELECT current_setting(%s)", [setting])
            row = cursor.fetchone()
            if row is None or row[0] == "off":
                problems.append(
                    Error(f"PostgreSQL runs with {setting} off: a commit may be lost.", id="opsconsole.E011")
                )
        cursor.execute("SELECT current_setting('server_version_num')::int")
        version = cursor.fetchone()
        if version is None or version[0] < 150000:
            problems.append(Error("PostgreSQL 15 or newer is needed.", id="opsconsole.E012"))
        cursor.execute(
            "SELECT c.relname, t.tgname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid "
            "WHERE NOT t.tgisinternal AND t.tgenabled IN ('O', 'A') AND c.relnamespace = 'public'::regnamespace"
        )
        found = set(cursor.fetchall())
    problems += _simulated_connections()
    missing = [f"{table}.{name}" for table, names in GUARDED.items() for name in names if (table, name) not in found]
    if missing:
        problems.append(
            Error(f"Guards are missing or switched off: {', '.join(sorted(missing))}.", id="opsconsole.E013")
        )
    return problems


def _simulated_connections() -> list[CheckMessage]:
    """In production a connection to the simulated provider would say "done" about money that never moved."""
    if settings.MODE != "production" or "operations_connection" not in connection.introspection.table_names():
        return []
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM operations_connection WHERE provider = 'simulated'")
        row = cursor.fetchone()
    if not row or not row[0]:
        return []
    reason = f"{row[0]} connections go to the simulated provider, which moves no money."
    return [Error(reason, id="opsconsole.E014")]
