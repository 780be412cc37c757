"""Reads who takes part in which course, from a file that the hub's admin writes, and derives JupyterHub's roles."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course.jupyterhub.accounts.names import EXPECTED, account_name, possible
from course.lab_choice import Choice, ChoiceError, parse_choice

EXAMPLE = """\
# Who takes part in which course. The hub reads this again when it changes.
# Names are those of accounts, as `getent passwd NAME` knows them. A student who is taken out keeps files and grades,
# and may not log in any more.

[hpc]
title = "High-performance computing"
instructors = ["iris"]
students = ["ada", "bob"]

# This course has two of the labs, in this order, and could have more of its instructor's own, which are found by
# labs_folders = ["/home/noor/labs"]. Without such lines a course has all labs of Lockstep.
[deep-learning]
labs = ["03_pi_allreduce", "10_ddp_transformer"]
instructors = ["noor"]
students = ["bob", "cleo"]
"""
ALL_LABS = Choice()
KEYS = {"title", "instructors", "students", "labs", "labs_folders"}
COURSE = re.compile(r"[a-z][a-z0-9_-]{0,23}")  # becomes part of an account's name, a folder's name and a URL


class CoursesError(Exception):
    """The file of courses cannot be read. The message names the file, the place, and what is expected."""


@dataclass(frozen=True)
class Course:
    """A course with its own formgrader, gradebook and folder. title: what people read; empty: the name."""

    name: str
    instructors: tuple[str, ...]
    students: tuple[str, ...]
    choice: Choice = ALL_LABS
    title: str = ""

    @property
    def grader(self) -> str:
        """The account that the course's formgrader runs as, which its instructors share."""
        return f"grader-{self.name}"

    @property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """Members of JupyterHub's groups, by the names that nbgrader expects."""
        return {f"nbgrader-{self.name}": self.students, f"formgrade-{self.name}": self.instructors}


def read_courses(path: Path) -> list[Course]:
    """The courses in a TOML file. Raises CoursesError."""
    try:
        tables = tomllib.loads(path.read_text())
    except (OSError, ValueError) as error:  # ValueError: not TOML, or not UTF-8
        raise CoursesError(f"{path} cannot be read: {error}") from error
    if not tables:
        raise CoursesError(f"{path} names no course.")
    return [read_course(path, name, table) for name, table in tables.items()]


def read_course(path: Path, name: str, table: Any) -> Course:
    """The course in one table of the file. Raises CoursesError."""
    if not COURSE.fullmatch(name):
        raise CoursesError(f"{path}: [{name}]: a course's name has 1 to 24 of a-z, 0-9, - and _, a letter first.")
    if not isinstance(table, dict) or not table.keys() <= KEYS:
        raise CoursesError(
            f"{path}: [{name}] has `instructors` and `students`, perhaps `title`, `labs` and `labs_folders`, and "
            "nothing else."
        )
    title = table.get("title", "")
    if not isinstance(title, str) or not title.isprintable():
        raise CoursesError(f'{path}: [{name}]: title is a text of one line, as "High-performance computing".')
    people = {}
    for kind in ("instructors", "students"):
        people[kind] = table.get(kind, [])
        if not isinstance(people[kind], list) or not all(isinstance(person, str) for person in people[kind]):
            raise CoursesError(f'{path}: [{name}]: {kind} is a list of account names, as ["ada", "bob"].')
        for person in people[kind]:
            if not possible(person):
                raise CoursesError(f"{path}: [{name}]: {person!r} among the {kind} can be no account: {EXPECTED}.")
        people[kind] = list(dict.fromkeys(map(account_name, people[kind])))
    if both := sorted({*people["instructors"]} & {*people["students"]}):
        raise CoursesError(f"{path}: [{name}]: {', '.join(both)} cannot be instructor and student of one course.")
    try:
        choice = parse_choice(table, f"{path}: [{name}]")
    except ChoiceError as error:
        raise CoursesError(f"{error}.") from error
    return Course(name, tuple(people["instructors"]), tuple(people["students"]), choice, title.strip())


def everybody(courses: Sequence[Course]) -> list[str]:
    """Everybody who may log in."""
    return sorted({person for course in courses for person in course.instructors + course.students})


def roles(courses: Sequence[Course]) -> list[dict[str, Any]]:
    """JupyterHub's roles: who may do what. Nobody gets more rights than these."""
    return [
        # From a user's server, nbgrader asks for the user's courses.
        {
            "name": "server",
            "scopes": [
                "users:activity!user",
                "access:servers!server",
                "read:users:groups!user",
                "read:users:name!user",
            ],
        },
        *(
            {
                "name": f"instructor-{course.name}",
                "description": f"opens the formgrader of {course.name}",
                "scopes": [
                    f"access:services!service={course.name}",
                    f"read:services!service={course.name}",
                    f"list:services!service={course.name}",
                ],
                "groups": [f"formgrade-{course.name}"],
            }
            for course in courses
        ),
        {
            "name": "roster",
            "scopes": ["admin:users", "admin:groups", "list:users", "list:groups", "delete:servers"],
            "services": ["roster"],
        },
        {
            "name": "culler",
            "scopes": ["list:users", "read:users:activity", "read:servers", "delete:servers"],
            "services": ["culler"],
        },
    ]
