"""The accounts of a hub that root starts: whether they are there, and what they may read."""

from __future__ import annotations

import os
import pwd
import secrets
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

READABLE = "import course.world, jupyterhub"  # what everybody's programs do


class AccountsError(Exception):
    """The hub cannot work with the accounts that are there. The message says what to do."""


def missing(names: Iterable[str]) -> list[str]:
    """Those of the accounts that this machine, or a directory service of its, does not know."""
    return [name for name in names if not known(name)]


def known(name: str) -> bool:
    """Whether there is an account of this name."""
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True


def identity(name: str) -> dict[str, Any]:
    """What `subprocess.run` takes to run a program as an account, with no group but its own."""
    entry = pwd.getpwnam(name)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def create(people: Iterable[str], graders: Iterable[str], passwords: Path) -> None:
    """Make accounts: people's with a password each, which is added to a file that only root reads; graders' without.

    Raises AccountsError.
    """
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
    """Run one of the system's programs. Raises AccountsError with what it said."""
    try:
        done = subprocess.run(words, input=given, capture_output=True, text=True)
    except FileNotFoundError:
        raise AccountsError(f"There is no {words[0]} here: sudo apt install passwd") from None
    if done.returncode:
        raise AccountsError(f"{' '.join(words)} failed: {' '.join(done.stderr.split())}")


def check_readable(name: str) -> None:
    """See that an account can run this environment's Python and its packages. Raises AccountsError."""
    program = [sys.executable, "-c", READABLE]
    place = {"cwd": "/", "env": {"HOME": pwd.getpwnam(name).pw_dir}}
    try:
        done = subprocess.run(program, capture_output=True, text=True, **place, **identity(name))
        said = done.stderr.strip().rsplit("\n", 1)[-1] if done.returncode else ""
    except OSError as error:
        said = str(error)
    if said:
        base = Path(sys.base_prefix)
        raise AccountsError(
            f"{name} cannot run {sys.executable}: {said}\n"
            f"Everybody must be able to read the clone and its Python ({base}). Put the clone where all can enter, as "
            "in /opt/lockstep, remove .venv, and run ./lockstep hub with a Python first on PATH that all can read, as "
            "Debian's python3.11."
        )
