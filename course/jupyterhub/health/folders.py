"""What `./lockstep doctor --class` finds out about the folders that keep people apart: their owners and permissions."""

from __future__ import annotations

import pwd
from collections.abc import Iterator
from pathlib import Path

from course.exchange.folders import EXCHANGE, OF_A_COURSE
from course.homes.look import name_of
from course.jupyterhub.accounts.unix import known
from course.jupyterhub.courses import Course
from course.jupyterhub.health.line import OK, START, SUDO, UNSEEN, WRONG, Line
from course.jupyterhub.health.readable import readable
from course.jupyterhub.place import Place


def permissions(place: Place, courses: list[Course] | None) -> Iterator[Line]:
    """Whether the hub's folders and the exchange's have the owners and permissions that keep people apart."""
    found = list(faults(expected_folders(place, courses or [])))
    found += [Line("folders", WRONG, seen, mend) for seen, mend in readable(place, courses or [])]
    yield from found
    if courses is None:
        yield Line("folders", UNSEEN, "those of the courses, which courses.toml names", SUDO)
    elif not found:
        yield Line("folders", OK, "owners and permissions are right")


def expected_folders(place: Place, courses: list[Course]) -> dict[Path, tuple[int, int | None, int]]:
    """Owner, group (None: any) and permissions of the hub's folders; parents come first."""
    owner = place.root.stat().st_uid
    expected: dict[Path, tuple[int, int | None, int]] = {
        place.root: (owner, None, 0o711),
        place.courses_file: (owner, None, 0o600),
        place.private: (owner, None, 0o700),
        place.courses: (owner, None, 0o711),
        place.exchange: (owner, None, EXCHANGE),
    }
    for course in courses:
        grader, group = owner, None
        if owner == 0:
            if not known(course.grader):  # reported by `accounts`
                continue
            entry = pwd.getpwnam(course.grader)
            grader, group = entry.pw_uid, entry.pw_gid
        expected[place.course(course)] = (grader, group, 0o700)
        expected |= {place.exchange / course.name / name: (grader, group, mode) for name, mode in OF_A_COURSE.items()}
    return expected


def faults(expected: dict[Path, tuple[int, int | None, int]]) -> Iterator[Line]:
    """A line for each folder that is not as expected, or cannot be seen."""
    passed: set[Path] = set()  # what lies in these is not looked at
    for path, (user, group, mode) in expected.items():
        if passed & set(path.parents):
            continue
        try:
            found = path.lstat()
        except OSError as error:
            passed.add(path)
            missing = isinstance(error, FileNotFoundError)
            seen, mend = (f"{path} is missing", f"{START}    # makes it") if missing else (str(error), SUDO)
            yield Line("folders", WRONG if missing else UNSEEN, seen, mend)
            continue
        name, permissions = name_of(user), found.st_mode & 0o7777
        if found.st_uid != user or group not in (None, found.st_gid):
            seen = f"{path} belongs to {name_of(found.st_uid)}, and should to {name} and its group"
            yield Line("folders", WRONG, seen, f"sudo chown {name}: {path}")
        if permissions != mode:
            seen = f"{path} has permissions {permissions:04o}, and should have {mode:04o}"
            yield Line("folders", WRONG, seen, f"sudo chmod {mode:04o} {path}")
