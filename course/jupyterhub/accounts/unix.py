"""Finds accounts that are missing, and makes them."""

from __future__ import annotations

import os
import pwd
import re
import secrets
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

LOCAL = re.compile(r"[a-z_][a-z0-9_.-]{0,31}")  # the names that useradd takes


class AccountsError(Exception):
    """The hub cannot work with the existing accounts. The message says what to do."""


def missing(names: Iterable[str]) -> list[str]:
    """Those accounts that neither this machine nor its directory service knows."""
    return [name for name in names if not known(name)]


def known(name: str) -> bool:
    """Whether there is an account of this name."""
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True


def identity(name: str) -> dict[str, Any]:
    """Arguments of `subprocess.run` to run a program as an account, with no group but its own."""
    entry = pwd.getpwnam(name)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def create(people: Iterable[str], graders: Iterable[str], passwords: Path) -> None:
    """Make accounts, people's with a password, graders' without one. Raises AccountsError.

    passwords: file, readable by root only, to which the passwords are added. A name that only a directory can have
    makes it refuse, before any account is made.
    """
    people = [*people]
    if foreign := [name for name in people if not LOCAL.fullmatch(name)]:
        raise AccountsError(
            f"No account: {', '.join(foreign)}. Only a directory service has accounts of such names, and this machine "
            f"does not see them: `getent passwd {foreign[0]}` prints nothing. Set the service up (sssd), or correct "
            "the names. No account was made."
        )
    for name in graders:
        command("useradd", "--create-home", "--user-group", "--shell", "/usr/sbin/nologin", name)
        os.chmod(pwd.getpwnam(name).pw_dir, 0o700)
    for name in people:
        command("useradd", "--create-home", "--user-group", "--shell", "/bin/bash", name)
        os.chmod(pwd.getpwnam(name).pw_dir, 0o700)
        password = secrets.token_urlsafe(9)
        command("chpasswd", given=f"{name}:{password}\n")
        with os.fdopen(os.open(passwords, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "w") as file:
            file.write(f"{name} {password}\n")


def command(*words: str, given: str | None = None) -> None:
    """Run one of the system's programs. given: its standard input. Raises AccountsError with its complaint."""
    try:
        done = subprocess.run(words, input=given, capture_output=True, text=True)
    except FileNotFoundError:
        raise AccountsError(f"There is no {words[0]} here: sudo apt install passwd") from None
    if done.returncode:
        raise AccountsError(f"{' '.join(words)} failed: {' '.join(done.stderr.split())}")
