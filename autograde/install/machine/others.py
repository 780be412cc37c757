"""Whether a class's accounts can run the Python that a hub's environment is made of, before minutes of a set-up.

Only root starts a hub for accounts. Tried as one of the accounts that courses.toml names, else as `nobody`.
"""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
import tomllib
from pathlib import Path

from autograde.install.causes import SetupFailed


def folder_of_hub(root: Path, arguments: list[str]) -> Path:
    """The hub's folder, as the arguments of `./lockstep hub` name it."""
    for number, word in enumerate(arguments):
        if word.startswith("--folder="):
            return Path(word.partition("=")[2])
        if word == "--folder" and arguments[number + 1 :]:
            return Path(arguments[number + 1])
    return root / "hub"


def somebody(courses: Path) -> pwd.struct_passwd:
    """An account of courses.toml that exists; `nobody` where there is none, or no such file."""
    try:
        tables = tomllib.loads(courses.read_text(encoding="utf-8")).values()
        names = [name for table in tables for kind in ("students", "instructors") for name in table.get(kind, [])]
    except (OSError, ValueError, AttributeError, TypeError):
        names = []
    for name in names:
        try:
            return pwd.getpwnam(name)
        except (KeyError, TypeError):
            continue
    return pwd.getpwnam("nobody")


def check_others(root: Path, arguments: list[str]) -> None:
    """Check that others than root can run this Python and read the clone at `root`. Raises SetupFailed."""
    if os.geteuid() != 0:
        return
    entry = somebody(folder_of_hub(root, arguments) / "courses.toml")
    account = {"user": entry.pw_uid, "group": entry.pw_gid}
    account["extra_groups"] = os.getgrouplist(entry.pw_name, entry.pw_gid)
    python = sys._base_executable
    try:
        program = [python, "-I", "-c", "import os, sys; os.stat(sys.argv[1])", str(root / "pyproject.toml")]
        done = subprocess.run(program, capture_output=True, text=True, cwd="/", **account)
        said = done.stderr.strip() or f"it ended with status {done.returncode}"
        why = said.rsplit("\n", 1)[-1] if done.returncode else ""
    except OSError as error:
        why = str(error)
    if why:
        raise SetupFailed(
            f"accounts on this machine cannot use this clone with {python}",
            f"as {entry.pw_name}: {why}",
            "put the clone where all can enter, as in /opt/lockstep; rm -rf .venv; and run ./lockstep hub with a "
            "Python first on PATH that all can read, as Debian's: PATH=/usr/bin:$PATH ./lockstep hub",
        )
