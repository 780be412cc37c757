"""What cannot be graded, or not be collected, is named; nothing is read in its place, and nobody waits for it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from classroom import Classroom
from small_course import LAB, make_course

pytestmark = pytest.mark.timeout(900)
SECONDS = 600.0  # a grading takes some


@pytest.fixture
def room(tmp_path: Path) -> Classroom:
    """A class on the small lab, built, in which ada has handed in a blank notebook."""
    room = Classroom(make_course(tmp_path / "course"), LAB)
    assert room.lockstep("build").exit_code == 0
    room.put("ada", room.released())
    return room


def pipe(path: Path) -> None:
    """A named pipe."""
    os.mkfifo(path)


def zeros(path: Path) -> None:
    """A link to a device that never ends."""
    path.symlink_to("/dev/zero")


def folder(path: Path) -> None:
    """A folder."""
    path.mkdir()


@pytest.mark.thorough
def test_a_note_of_the_time_that_is_no_file_is_named_and_never_read(room):
    strange = {"pipe": pipe, "zeros": zeros, "folder": folder}
    for student, make in strange.items():
        make(room.put(student, room.released(), when=None) / "timestamp.txt")
    status, output = room.apart("grade", LAB, "--no-collect", seconds=SECONDS)
    assert status == 1, output
    for student in strange:
        note = room.root / "class" / "submitted" / student / LAB / "timestamp.txt"
        assert f"{student}: not graded: {note} is not a date and time" in output
    states = {student: row["status"] for student, row in room.rows().items()}
    assert states == {"ada": "graded"} | dict.fromkeys(strange, "not graded")
    assert room.scores() == {"ada": 0}


@pytest.mark.thorough
def test_a_link_in_the_exchange_is_not_followed_when_it_is_collected(room):
    inbound = room.exchange / "lockstep" / "inbound" / f"eve+{LAB}+2025-01-01 10:00:00.000000 UTC+x"
    inbound.mkdir(parents=True)
    (inbound / "timestamp.txt").write_text("2025-01-01 10:00:00.000000 UTC")
    (inbound / f"{LAB}.ipynb").symlink_to(room.root / "build" / "solutions" / LAB / f"{LAB}.ipynb")
    (inbound / "book.html").symlink_to(room.root / "class" / "gradebook.db")
    (inbound / "course").symlink_to(room.root)
    os.mkfifo(inbound / "pipe.txt")
    status, output = room.apart("grade", LAB, seconds=SECONDS)
    assert status is not None, output
    assert room.scores().get("eve", 0) == 0
    assert room.rows()["eve"]["score"] in ("", "0"), output
    answer = b"nobody has thought of this before"
    for path in (room.root / "class").rglob("eve/**/*"):
        assert not path.is_file() or answer not in path.read_bytes(), path
        assert path.name not in ("book.html", "course", "pipe.txt"), path
