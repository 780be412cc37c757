"""A grading does nothing twice that one time is enough for: it loads the lab once, and converts each notebook once."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from classroom import Classroom
from jinja2 import Environment
from nbconvert.exporters.exporter import Exporter
from nbgrader.api import get_alembic_version
from small_course import ANSWERS, LAB
from sqlalchemy import create_engine

from autograde.classroom.nbgrader_course import Course
from autograde.contract.check import draw_cases
from autograde.labs.folder import load_checks
from autograde.making.build import release

SMALL = len(ANSWERS)  # TODOs of the small lab
STUDENTS = ("ada", "bob")


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


@pytest.fixture(scope="module")
def graded(built: Classroom, tmp_path_factory: pytest.TempPathFactory) -> tuple[Classroom, Counter, str]:
    """A class that was graded with two jobs, what was called for it, and what it said."""
    room = built.copied(tmp_path_factory.mktemp("graded"))
    for student in STUDENTS:
        room.put(student, room.answered(ANSWERS))
    once = (load_checks, release, Exporter.from_notebook_node, get_alembic_version, create_engine, draw_cases)
    with counted(*once, subprocess.Popen.__init__) as calls:
        result = room.grade("--jobs", "2")
    return room, calls, result.output


def test_the_lab_is_loaded_once_and_each_notebook_converted_once(graded):
    room, calls, said = graded
    assert room.scores() == dict.fromkeys(STUDENTS, 5), said
    assert calls[load_checks] == 1
    assert calls[draw_cases] == len(STUDENTS) * SMALL, "the verdict has the cases that the probe had"
    assert calls[get_alembic_version] == 0, "the gradebook is made without a process"
    assert calls[create_engine] == 1, "what the gradebook is asked is compiled once"
    assert calls[release] == 1
    assert calls[Exporter.from_notebook_node] == 1 + 2 * len(STUDENTS), "a grading and a page of feedback each"
    assert calls[subprocess.Popen.__init__] <= 2, "the fork server, and whether it can protect: no process a student"


def test_what_is_graded_is_not_graded_again(graded):
    room, *_ = graded
    with counted(load_checks, Exporter.from_notebook_node, subprocess.Popen.__init__) as calls:
        room.grade()
    assert calls == {load_checks: 1, Exporter.from_notebook_node: 1}, "only the lab goes into the gradebook again"


def test_a_process_compiles_the_templates_of_feedback_once(graded):
    room, *_ = graded
    with counted(Environment.compile, Exporter.from_notebook_node) as calls:
        Course(room.root).feedback(LAB, STUDENTS[0])
    assert calls == {Exporter.from_notebook_node: 1}
