"""Homes of accounts: a directory's account often has none until the first session, where pam_mkhomedir makes it.

A server needs the home before it starts, and opens no PAM session; so the home is made just before, as that module does
it: with the files of /etc/skel, and for its owner alone.
"""

from __future__ import annotations

import asyncio
import json
import os
import pwd
import shutil
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from course.homes.look import Trouble, mounted
from course.jupyterhub.accounts.unix import known
from course.jupyterhub.place import REPOSITORY

NOWHERE = {"", "/", "/nonexistent", "/dev/null", "/var/empty"}  # what accounts have that are to have no home
HELPER = "mkhomedir_helper"  # of Linux-PAM
UMASK = "0077"
PATIENCE = 30  # seconds for a home to answer
AT_ONCE = 8  # homes that are looked at, of a class


class HomeError(Exception):
    """An account has no home that can be used, and none can be made. The message names it and what to do."""


def home_of(name: str) -> Path:
    """The home that an account has or is to have. Raises KeyError if there is no account."""
    return Path(pwd.getpwnam(name).pw_dir)


def without_home(names: Iterable[str]) -> dict[str, Path]:
    """Those accounts whose home is not there yet, and where it is to be. Names without an account are left out."""
    found = {}
    for name in names:
        try:
            home = home_of(name)
            home.stat()
        except FileNotFoundError:
            found[name] = home
        except (KeyError, OSError):  # no account; or a file server that lets nobody else look
            continue
    return found


def can_make(home: Path) -> bool:
    """Whether a home can be made there, as far as one sees without trying."""
    return str(home) not in NOWHERE and home.is_absolute() and helper() is not None


def helper() -> str | None:
    """The path of Linux-PAM's program that makes homes; None without one."""
    return shutil.which(HELPER, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


def how_to_make(name: str, home: Path) -> str:
    """The command that makes an account's home."""
    if str(home) in NOWHERE:
        return f"sudo usermod --home /home/{name} {name} && sudo {HELPER} {name} {UMASK}"
    if helper():
        return f"sudo {HELPER} {name} {UMASK}"
    return f"sudo cp -rT /etc/skel {home} && sudo chown -R {name}: {home} && sudo chmod 700 {home}"


def make_home(name: str) -> None:
    """Make an account's home if it is not there yet. Raises HomeError."""
    home = home_of(name)
    if str(home) not in NOWHERE and name not in without_home([name]):
        return
    why = "no home is to be there" if str(home) in NOWHERE else f"there is no {HELPER} here"
    if can_make(home):
        done = subprocess.run([helper(), name, UMASK], capture_output=True, text=True)
        if home.is_dir():
            return
        why = " ".join(done.stderr.split()) or "it could not be made"
    raise HomeError(f"{name} has no home {home}: {why}. Whoever runs this hub makes it: {how_to_make(name, home)}")


async def make_home_first(spawner: Any) -> None:
    """JupyterHub's hook before a server starts. Raises JupyterHub's own error for a home that cannot be used: the text
    of any other one is shown only if it took a while."""
    from jupyterhub.spawner import SpawnException  # only the hub has it: doctor looks at homes, too

    try:
        await prepare(pwd.getpwnam(spawner.user.name))
    except HomeError as error:
        refusal = SpawnException(str(error), reason="Your server could not be started", status_code=503)
        refusal.jupyterhub_message = str(error)
        raise refusal from None


async def prepare(entry: pwd.struct_passwd) -> None:
    """Make an account's home, and see that it can be used. Raises HomeError. A home that is full can be: its user
    deletes something there."""
    if entry.pw_dir in NOWHERE or await wrong_with(entry):
        await asyncio.to_thread(make_home, entry.pw_name)
        if found := await wrong_with(entry):
            raise HomeError(f"The server of {entry.pw_name} is not started. {found.sentence}")


async def wrong_with(entry: pwd.struct_passwd) -> Trouble | None:
    """What is wrong with an account's home that it cannot mend itself. In a process of its own, as whoever asks a file
    server that is down waits for ever."""
    groups = os.getgrouplist(entry.pw_name, entry.pw_gid)
    look = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "course.homes.look", entry.pw_dir),
        stdout=subprocess.PIPE,
        cwd="/",
        env={"PYTHONPATH": str(REPOSITORY), "LANG": "C.UTF-8"},
        user=entry.pw_uid,
        group=entry.pw_gid,
        extra_groups=groups,
    )
    try:
        said, _ = await asyncio.wait_for(look.communicate(), PATIENCE)
    except TimeoutError:
        with suppress(ProcessLookupError):
            look.kill()
        what = f"The home of {entry.pw_name}, {entry.pw_dir}, does not answer: its file server may be down."
        return Trouble(what, "Whoever runs this hub looks at it", mounted(Path(entry.pw_dir)), True)
    return Trouble(**json.loads(said)) if said.strip() else None


def unusable(names: Iterable[str]) -> dict[str, Trouble]:
    """Homes that are there, and in which their account cannot work, by name: what is wrong. Only root can tell.

    Raises PermissionError if an account cannot run this Python.
    """
    names = [name for name in names if known(name)]
    entries = [pwd.getpwnam(name) for name in names if name not in without_home(names)]

    async def look_at_all() -> list[Trouble | None]:
        turns = asyncio.Semaphore(AT_ONCE)

        async def look_at(entry: pwd.struct_passwd) -> Trouble | None:
            async with turns:
                return await wrong_with(entry)

        return await asyncio.gather(*map(look_at, entries))

    found = asyncio.run(look_at_all())
    return {entry.pw_name: trouble for entry, trouble in zip(entries, found, strict=True) if trouble}
