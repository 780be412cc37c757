"""A class on a lab that is corrected, and a student of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from corrected_lab import NUMBERS, QUESTIONS, Released
from small_course import LAB, LAB_PY, make_course
from traitlets.config import Config

from course.exchange.folders import OF_A_COURSE
from course.exchange.submit import hand_in_privately
from course.jupyterhub.pages.student_exchange import StudentExchange


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
