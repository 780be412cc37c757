"""What `./lockstep doctor --class` finds out about accounts, where the hub runs as root."""

from __future__ import annotations

import os
import pwd
import sys
from collections.abc import Iterator

from course.exchange.folders import FoldersError, owner
from course.jupyterhub.accounts.homes import can_make, how_to_make, unusable, without_home
from course.jupyterhub.accounts.python import anybody, complaint
from course.jupyterhub.accounts.unix import known, missing
from course.jupyterhub.courses import Course, everybody
from course.jupyterhub.health.line import OK, START, SUDO, UNSEEN, WRONG, Line


def accounts(courses: list[Course]) -> Iterator[Line]:
    """Whether everybody has an account with a home, and can run the clone's Python, and graders have their groups."""
    people, graders = everybody(courses), [course.grader for course in courses]
    if lacking := missing(people + graders):
        yield Line("accounts", WRONG, f"none for {', '.join(lacking)}", f"sudo {START} --create-accounts")
    else:
        yield Line("accounts", OK, f"all {len(people) + len(graders)} are there")
    yield from homes(people + graders)
    yield from groups(graders)
    yield python(people + graders)


def homes(names: list[str]) -> Iterator[Line]:
    """Whether everybody has a home, or gets one with the first server, and can write there."""
    lacking = without_home(names)
    for name, home in lacking.items():
        if not can_make(home):
            yield Line("homes", WRONG, f"{name} has none, {home} is not there", how_to_make(name, home))
    later = [name for name, home in lacking.items() if can_make(home)]
    try:
        wrong = unusable(names) if os.geteuid() == 0 else {}
    except PermissionError:  # of Python, see below
        yield Line("homes", UNSEEN, "whether accounts can work there: they cannot run this Python", SUDO)
        return
    for name, found in wrong.items():
        yield Line("homes", WRONG, f"the home of {name}: {found.what.removesuffix('.')}", found.command or found.step)
    if later:
        seen = f"{', '.join(later[:4])}{f' and {len(later) - 4} more' * (len(later) > 4)}"
        yield Line("homes", OK, f"not there yet, made when their servers first start: {seen}")
    elif not lacking and not wrong:
        yield Line("homes", OK, f"all {sum(map(known, names))} are there")


def groups(graders: list[str]) -> Iterator[Line]:
    """Whether each grader has a group of its own: its members can read what is handed in."""
    for grader in filter(known, graders):
        try:
            owner(grader)
        except FoldersError as error:
            said, _, mend = str(error).partition(" Give it one of its own: ")
            yield Line("groups", WRONG, said, " && ".join(f"sudo {each}" for each in mend.split("; ")))


def python(names: list[str]) -> Line:
    """Whether accounts can run this environment's Python, tried as one of them."""
    name = anybody(names)
    if os.geteuid() not in (0, pwd.getpwnam(name).pw_uid):
        return Line("python", UNSEEN, f"whether {name} can run it", SUDO)
    if why := complaint(name):
        seen = f"{name} cannot run {sys.executable} of {sys.base_prefix}: {why}"
        mend = "rm -rf .venv && PATH=/usr/bin:$PATH ./lockstep setup hub    # clone and Python where all can read"
        return Line("python", WRONG, seen, mend)
    return Line("python", OK, f"{name} can run it, and what the labs need")
