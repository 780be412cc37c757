"""A class on the small lab, with two questions at its end, and a student of it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from classroom import Classroom
from small_course import LAB, LAB_PY, make_course
from traitlets.config import Config

from autograde.build import build, write_file
from autograde.classroom.release.old_text import as_released
from autograde.contract.labs import find_lab
from course.corrections.releases import keep
from course.exchange.folders import OF_A_COURSE
from course.exchange.submit import hand_in_privately
from course.jupyterhub.pages.student_exchange import StudentExchange

QUESTIONS = """
# %% answer="sixes"
check.answer("sixes", None)

# %% [markdown] answer="why"
# YOUR ANSWER HERE
"""
NUMBERS = '[sixes]\nvalue = 6\nremark = "Six."\n'


class Released(Classroom):
    """A class whose lab can be corrected and released again."""

    def correct(self, *changes: tuple[str, str]) -> None:
        """Replace text in the lab's lab.py."""
        source = self.root / "solutions" / LAB / "lab.py"
        text = source.read_text()
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        source.write_text(text)

    def put_out(self) -> None:
        """Put it into the exchange as a release does, without a gradebook."""
        outbound = self.exchange / "lockstep" / "outbound"
        shutil.rmtree(outbound / LAB, ignore_errors=True)
        for name, file in as_released(build(find_lab(self.root, LAB))).items():
            write_file(outbound / LAB / name, file)
        keep(self.exchange, "lockstep", LAB)

    def release(self, *options: str) -> str:
        """Release it. Returns what is said."""
        done = self.lockstep("release", LAB, *options)
        assert done.exit_code == 0, done.output
        return done.output


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Released:
    """The class, whose lab is not released yet."""
    room = Released(make_course(tmp_path / "course", LAB_PY + QUESTIONS), LAB)
    (room.root / "solutions" / LAB / "questions.toml").write_text(NUMBERS)
    for name, value in room.environment.items():
        monkeypatch.setenv(name, value)
    for folder, mode in OF_A_COURSE.items():
        (room.exchange / "lockstep" / folder).mkdir(parents=True, exist_ok=True)
        (room.exchange / "lockstep" / folder).chmod(mode)
    room.exchange.chmod(0o777)
    return room


@pytest.fixture
def ada(room: Released, tmp_path: Path) -> StudentExchange:
    """A student, whose folders are below tmp_path."""
    config = Config()
    hand_in_privately(config, room.exchange)
    config.Exchange.cache = str(tmp_path / "cache")
    config.CourseDirectory.student_id = "ada"
    (tmp_path / "home").mkdir()
    return StudentExchange(config, tmp_path / "home")
