"""Which system user runs the embedded PostgreSQL: it refuses to run as root."""

import os
import pwd
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

OUTSIDE = Path("/var/lib/opsconsole")
"""Where root keeps data and programs that the other user could not reach in the checkout, for example under /root."""


@dataclass(frozen=True)
class Account:
    """A system user other than the one we are."""

    name: str
    uid: int
    gid: int

    def can_enter(self, folder: Path) -> bool:
        """Try, as this user, to enter the folder."""
        return self._succeeds(["/bin/sh", "-c", 'cd "$1"', "sh", str(folder)])

    def can_run(self, program: Path) -> bool:
        """Try, as this user, to run the program."""
        return self._succeeds([str(program), "--version"])

    def _succeeds(self, command: list[str]) -> bool:
        try:
            done = subprocess.run(
                command,
                cwd="/",
                check=False,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                **switch_to(self),
            )
        except (PermissionError, FileNotFoundError):
            return False
        return done.returncode == 0


class Switch(TypedDict, total=False):
    """The arguments with which subprocess starts a program as somebody else."""

    user: int
    group: int
    extra_groups: list[int]


def switch_to(account: Account | None) -> Switch:
    """Return what subprocess needs to run as this user; nothing when we stay who we are."""
    if account is None:
        return {}
    return {"user": account.uid, "group": account.gid, "extra_groups": []}


def account_for(folder: Path, environment: Mapping[str, str] = os.environ) -> Account | None:
    """Return None for a plain user; for root, the person behind sudo, the folder's owner, or the user `nobody`."""
    if os.geteuid() != 0:
        return None
    candidates: list[int] = [folder.stat().st_uid]
    if environment.get("SUDO_UID", "").isdigit():
        candidates.insert(0, int(environment["SUDO_UID"]))
    for uid in candidates:
        try:
            found = pwd.getpwuid(uid)
        except KeyError:
            continue
        if uid != 0:
            return Account(found.pw_name, found.pw_uid, found.pw_gid)
    found = pwd.getpwnam("nobody")
    return Account(found.pw_name, found.pw_uid, found.pw_gid)


def reachable_programs(installed: Path, account: Account | None, version: str) -> Path:
    """Return PostgreSQL's folder such that this user can run it, copied out of a private place if need be."""
    if account is None or _usable(installed, account):
        return installed
    target = OUTSIDE / f"postgresql-{version}"
    copy = target / installed.parent.name / installed.name
    if not _usable(copy, account):
        shutil.rmtree(target, ignore_errors=True)
        _copy_with_libraries(installed, target)
    return copy


def _usable(programs: Path, account: Account) -> bool:
    return all(account.can_run(programs / "bin" / name) for name in ("postgres", "initdb"))


def _copy_with_libraries(installed: Path, target: Path) -> None:
    """Copy the programs, and beside them the libraries that wheels keep at a fixed relative place."""
    package = installed.parent
    wanted = (installed, package / ".dylibs", package.with_name(f"{package.name}.libs"))
    for source in filter(Path.is_dir, wanted):
        place = target / source.relative_to(package.parent)
        shutil.copytree(source, place, symlinks=True, ignore=shutil.ignore_patterns("include"))
    for path in (target.parent, target, *target.rglob("*")):
        if not path.is_symlink():
            mode = path.stat().st_mode
            path.chmod(mode | (0o555 if mode & 0o100 else 0o444))


def hand_over(folder: Path, account: Account) -> None:
    """Give the folder and everything in it to this user; nobody else can look inside."""
    for path in (folder, *folder.rglob("*")):
        if path.lstat().st_uid != account.uid:
            os.chown(path, account.uid, account.gid, follow_symlinks=False)
    folder.chmod(0o700)
