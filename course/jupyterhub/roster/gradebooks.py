"""The courses' gradebooks, into which whoever is added to the courses file is put while the hub runs.

The hub's start puts everybody in. So a student who comes in mid-term is in the formgrader and in all lists at once,
also without a hand-in.
"""

from __future__ import annotations

import logging
import os
import subprocess
import time

from course.jupyterhub.accounts.unix import known
from course.jupyterhub.courses import Course, CoursesError, read_courses
from course.jupyterhub.place import Place

PATIENCE = 300.0  # seconds for a course, whose configuration is its instructors'
AGAIN, SELDOM = 60.0, 3600.0  # seconds until what failed is tried again: at first, and at most


def keep_gradebooks(place: Place, poll: float) -> None:
    """Follow the courses file for ever. poll: seconds between two looks at it."""
    due: dict[str, float] = {}  # when a course's turn is, by time.monotonic()
    waits: dict[str, float] = {}
    while True:
        try:
            courses = read_courses(place.courses_file)
        except CoursesError:  # told by who follows it for the hub
            courses = []
        for course in courses:
            if time.monotonic() < due.get(course.name, 0.0):
                continue
            if enrol_new(place, course):
                waits.pop(course.name, None)
            else:
                waits[course.name] = min(SELDOM, 2 * waits.get(course.name, AGAIN / 2))
                due[course.name] = time.monotonic() + waits[course.name]
        time.sleep(poll)


def enrol_new(place: Place, course: Course) -> bool:
    """Put those students into a course's gradebook who were added since the last time. Returns whether that worked, and
    logs why not. Who has no account is not let in, and is left out; a new course waits for the hub's next start."""
    before = place.enrolled(course)
    if gone := before - {*course.students}:  # who comes back may have been taken out of the gradebook meanwhile
        place.note_enrolled(course, before - gone)
    there = [student for student in course.students if os.geteuid() != 0 or known(student)]
    new = [student for student in there if student not in before]
    if not new or not place.course(course).is_dir():
        return True
    try:
        place.enrol(course, there, PATIENCE)
    except (subprocess.SubprocessError, OSError, KeyError) as error:  # KeyError: the grader's account is gone
        said = error.stderr if isinstance(error, subprocess.CalledProcessError) else str(error)
        logging.warning(
            "%s: perhaps not in the gradebook: %s: %s (it is tried again later; the course's instructors can do it by "
            "`./lockstep enrol %s`)",
            course.name,
            ", ".join(new),
            said.strip().rpartition("\n")[2],
            " ".join(new),
        )
        return False
    logging.info("%s: in the gradebook: %s", course.name, ", ".join(new))
    return True
