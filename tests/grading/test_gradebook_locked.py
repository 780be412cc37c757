"""A gradebook that another program writes to is waited for, with a word; then one line says what is wrong."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from classroom import REPOSITORY, Classroom
from filled_gradebook import deadline, filled
from small_course import LAB

from autograde.classroom.gradebook import locked

COMMANDS = {
    "enrol": ("enrol", "zoe"),
    "extend": ("extend", LAB, "noor", "3d"),
    "grade": ("grade", LAB, "--no-collect"),
}


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Classroom:
    """A class with a deadline."""
    room = filled(tmp_path_factory.mktemp("locked") / "course")
    deadline(room, "2030-01-01 12:00:00")
    return room


@pytest.fixture
def writer(room: Classroom) -> Iterator[sqlite3.Connection]:
    """Another program, in the middle of writing."""
    connection = sqlite3.connect(room.root / "class" / "gradebook.db", isolation_level=None, check_same_thread=False)
    connection.execute("BEGIN IMMEDIATE")
    yield connection
    connection.close()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_gradebook_that_stays_locked_is_told_in_one_line(room, writer, monkeypatch, command):
    monkeypatch.setattr(locked, "AT_ONCE", 0.05)
    monkeypatch.setattr(locked, "PATIENCE", 0.1)
    done = room.lockstep(*COMMANDS[command])
    assert done.exit_code == 1
    waiting, error = done.output.splitlines()
    assert waiting == f"{locked.WHO}; waiting for it, a minute at most"
    assert error == f"Error: {locked.LOCKED}"


def test_a_gradebook_that_is_free_again_is_written_to(room, writer):
    environment = room.environment | {"PYTHONPATH": str(REPOSITORY)}
    command = [sys.executable, "-m", "autograde", "extend", LAB, "noor", "3d"]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr.readline() == f"{locked.WHO}; waiting for it, a minute at most\n"
        writer.execute("ROLLBACK")
        said, errors = process.communicate()
    assert (process.returncode, errors) == (0, "")
    assert "noor: the deadline of 90_small is 2030-01-04" in said


def test_a_command_of_its_own_prints_no_traceback_where_nbgrader_does(room, writer, tmp_path: Path):
    """What is locked after the command has looked is an error of nbgrader's, around SQLAlchemy's."""
    program = tmp_path / "enrol.py"
    program.write_text(
        "from autograde.classroom.gradebook import locked\n"
        "from autograde.classroom import nbgrader_course\n"
        "nbgrader_course.wait_until_free = lambda url: None\n"
        "from sqlalchemy import create_engine\n"
        "import nbgrader.api\n"
        "nbgrader.api.create_engine = lambda url, **how: create_engine(url, connect_args={'timeout': 0.1}, **how)\n"
        "from autograde.cli import main\n"
        "main(['enrol', 'zoe'])\n"
    )
    environment = room.environment | {"PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run([sys.executable, program], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, f"Error: {locked.LOCKED}\n")
