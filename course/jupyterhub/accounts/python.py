"""Whether accounts can run this environment's Python: it must not lie where only root can enter."""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from course.jupyterhub.accounts.unix import AccountsError, known

READABLE = "import course.world.world, jupyterhub"  # what every user's programs do
NOBODY = "nobody"


def anybody(names: Iterable[str]) -> str:
    """The first of these accounts that exists, to try what such accounts can read; else `nobody`."""
    return next(filter(known, names), NOBODY)


def complaint(name: str) -> str:
    """Why an account cannot run this environment's Python and its packages; empty if it can."""
    entry = pwd.getpwnam(name)
    groups = os.getgrouplist(name, entry.pw_gid)  # a server has them, too
    account = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": groups}
    program = [sys.executable, "-c", READABLE]
    try:
        done = subprocess.run(program, capture_output=True, text=True, cwd="/", env={"HOME": entry.pw_dir}, **account)
    except OSError as error:
        return str(error)
    said = done.stderr.strip() or f"it ended with status {done.returncode}"
    return said.rsplit("\n", 1)[-1] if done.returncode else ""


def check_readable(name: str) -> None:
    """Check that an account can run this environment's Python and its packages. Raises AccountsError."""
    if why := complaint(name):
        raise AccountsError(
            f"{name} cannot run {sys.executable}: {why}\n"
            f"Everybody must be able to read the clone and its Python ({Path(sys.base_prefix)}). Put the clone where "
            "all can enter, as in /opt/lockstep, remove .venv, and run ./lockstep hub with a Python first on PATH that "
            "all can read, as Debian's python3."
        )
