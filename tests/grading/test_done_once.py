"""A grading does nothing twice that one time is enough for: it loads the lab once, and converts each notebook once."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from nbconvert.exporters.exporter import Exporter
from nbgrader.api import get_alembic_version
from small_course import ANSWERS

from autograde.contract.check import draw_cases
from autograde.labs.folder import load_checks
from autograde.making.build import release

SMALL = len(ANSWERS)  # TODOs of the small lab


@contextmanager
def counted(*functions: Callable) -> Iterator[Counter]:
    """Counts the calls of Python functions in all threads that start in this block, by the function."""
    found, codes = Counter(), {getattr(each, "__wrapped__", each).__code__: each for each in functions}

    def note(frame, event, argument):
        if event == "call" and frame.f_code in codes:
            found[codes[frame.f_code]] += 1

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def test_the_lab_is_loaded_once_and_each_notebook_converted_once(small):
    students = ("ada", "bob", "cleo")
    for student in students:
        small.put(student, small.answered(ANSWERS))
    once = (load_checks, release, Exporter.from_notebook_node, get_alembic_version, draw_cases)
    with counted(*once, subprocess.Popen.__init__) as calls:
        result = small.grade("--jobs", "2")
    assert small.scores() == dict.fromkeys(students, 5), result.output
    assert calls[load_checks] == 1
    assert calls[draw_cases] == len(students) * SMALL, "the verdict has the cases that the probe had"
    assert calls[get_alembic_version] == 0, "the gradebook is made without a process"
    assert calls[release] == 1
    assert calls[Exporter.from_notebook_node] == 1 + 2 * len(students), "a grading and a page of feedback each"
    assert calls[subprocess.Popen.__init__] <= 2, "the fork server, and whether it can protect: no process a student"


def test_what_is_graded_is_not_graded_again(small):
    small.put("ada", small.answered(ANSWERS))
    small.grade()
    with counted(load_checks, Exporter.from_notebook_node, subprocess.Popen.__init__) as calls:
        small.grade()
    assert calls == {load_checks: 1, Exporter.from_notebook_node: 1}, "only the lab goes into the gradebook again"
