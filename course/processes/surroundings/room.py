"""Where a world on one machine has its files: in memory, or where there is room."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence

MEMORY = "/dev/shm"
OTHERS = ("/tmp", "/var/tmp")
MIB = 2**20
ROOM, ROOM_OF_RANK = 16 * MIB, 4 * MIB  # measured: a world of four ranks takes 1 MiB, and its temporary files more
LONGEST = 48  # characters: the paths of sockets below it must not have more than 107


class NoRoom(Exception):
    """There is no folder for a world's files. Says what is full."""


def room_for(ranks: int) -> int:
    """Bytes that must be free for a world of so many ranks."""
    return ROOM + ranks * ROOM_OF_RANK


def free(folder: str) -> int:
    """Bytes that this account can still write there; 0 where it may not write, or can make no more files."""
    try:
        there = os.statvfs(folder)
    except OSError:
        return 0
    full = there.f_files and not there.f_favail
    return 0 if full or not os.access(folder, os.W_OK | os.X_OK) else there.f_bavail * there.f_frsize


def places() -> list[str]:
    """Where a world's folder may be, the best first."""
    own = os.environ.get("TMPDIR", "")
    wanted = [MEMORY, *([os.path.abspath(own)] if own else []), *OTHERS]
    return [place for place in dict.fromkeys(wanted) if len(place) <= LONGEST]


def shortage(ranks: int, folders: Sequence[str]) -> str:
    """What is too full for a world, in words; empty if one of the folders has room."""
    if any(free(folder) >= room_for(ranks) for folder in folders):
        return ""
    seen = ", ".join(f"{folder} has {free(folder) / MIB:.0f} MiB" for folder in folders)
    return f"{seen} free, and {ranks} ranks take {room_for(ranks) / MIB:.0f}"


def make_folder(ranks: int) -> str:
    """Make a folder for a world's files where there is room for them. Raises NoRoom."""
    found = places()
    for place in found:
        if free(place) >= room_for(ranks):
            try:
                return tempfile.mkdtemp(prefix="lockstep-", dir=place)
            except OSError:  # a quota, say
                continue
    seen = shortage(ranks, found) or f"none of {', '.join(found)} takes them"
    raise NoRoom(
        f"There is no room for the ranks' files: {seen}. "
        f"`ls -lS {MEMORY}` lists what is there; delete what is yours, or ask who runs this machine."
    )
