"""The folders of nbgrader's exchange, with permissions that keep students from each other's work.

exchange/        1777  nbgrader insists that all may write; sticky: nobody can replace a course's folder
  COURSE/        0755  owned by its grader, as all below
    outbound/    0755  what is released; .LAB.extensions/ and .LAB.counts/ in it are 0711, and each file there is one
                       student's to read
    inbound/     3733  submissions: they get the grader's group (setgid); nobody else lists, renames or deletes them;
                       .receipts.STUDENT/ in it is 0700, and its student's: see receipts.py
    feedback/    0711  readable by those who know the name, which is made from a secret in the submission
"""

from __future__ import annotations

import grp
import os
import pwd
from collections.abc import Mapping
from pathlib import Path

from course.homes.look import name_of

EXCHANGE = 0o1777
INBOUND = 0o3733  # anybody can add, nobody can list; only its owner or the grader can rename or delete an entry
OF_A_COURSE = {".": 0o755, "outbound": 0o755, "inbound": INBOUND, "feedback": 0o711}


class FoldersError(Exception):
    """The exchange is not safe. The message names the folder, and what to do."""


def prepare(root: Path, graders: Mapping[str, str]) -> None:
    """Make the exchange at `root` with the folders of these courses, or correct their permissions.

    graders: account by course. Unless run by root, the current user owns everything, to try things out. Folders that
    somebody else owns are not taken over. Raises FoldersError, OSError.
    """
    root.mkdir(mode=0o755, parents=True, exist_ok=True)
    own(root.resolve(), os.geteuid(), os.stat(root).st_gid, EXCHANGE)
    for course, account in graders.items():
        user, group = owner(account) if os.geteuid() == 0 else (os.geteuid(), os.getegid())
        for name, mode in OF_A_COURSE.items():
            folder = root / course / name
            if not os.path.lexists(folder):
                os.mkdir(folder, 0o700)
            own(folder, user, group, mode)


def owner(account: str) -> tuple[int, int]:
    """Ids of an account and its group, which nobody else may share: its members can read submissions."""
    try:
        entry = pwd.getpwnam(account)
    except KeyError:
        raise FoldersError(f"There is no account {account}; make it: useradd --user-group {account}") from None
    try:
        group = grp.getgrgid(entry.pw_gid)
        name, added = group.gr_name, {*group.gr_mem} - {account}
    except KeyError:  # a number without a name
        name, added = str(entry.pw_gid), set()
    members = {user.pw_name for user in pwd.getpwall() if user.pw_gid == entry.pw_gid} - {account}
    if others := sorted(members | added):
        own_group = f"groupadd {account}; usermod --gid {account} {account}"
        mend = own_group if members else "; ".join(f"gpasswd --delete {one} {name}" for one in sorted(added))
        raise FoldersError(
            f"{name}, the group of {account}, is also that of {', '.join(others[:3])}: they could read what is handed "
            f"in. Give it one of its own: {mend}"
        )
    return entry.pw_uid, entry.pw_gid


def own(folder: Path, user: int, group: int, mode: int) -> None:
    """Set a folder's owner, group and permissions, if that owner or we own it already. Raises FoldersError."""
    try:
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except NotADirectoryError:
        raise FoldersError(f"{folder} is no folder. Look who put it there, and remove it.") from None
    try:
        found = os.fstat(opened)
        if found.st_uid not in {user, os.geteuid()}:
            raise FoldersError(
                f"{folder} belongs to {name_of(found.st_uid)}, and should to {name_of(user)}: its owner can replace "
                "what is in it. Look what that is, and move it away."
            )
        if (found.st_uid, found.st_gid) != (user, group):
            os.fchown(opened, user, group)
        os.fchmod(opened, mode)
    finally:
        os.close(opened)
