"""Deadlines that students are told before they hand in: where they are found, and in which words."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from course.exchange.due import BESIDE, content_of, deadline_file, deadline_here, deadline_sentence, extension_file

LAB = "03_pi_allreduce"
COMMON, OWN = datetime(2027, 1, 31, 22, 59), datetime(2027, 2, 3, 22, 59)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An exchange in which the lab has a deadline in the course hpc, and Ada more time. Nothing is configured."""
    for name in ("LOCKSTEP_EXCHANGE", "JUPYTERHUB_USER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path / "own"))
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", str(tmp_path / "settings"))
    (tmp_path / "settings").mkdir()
    release(tmp_path / "exchange", "hpc", COMMON)
    own = extension_file(tmp_path / "exchange", "hpc", LAB, "ada")
    own.parent.mkdir()
    own.write_bytes(content_of(OWN))
    return tmp_path


def release(exchange: Path, course: str, deadline: datetime) -> None:
    """Put the lab's deadline into an exchange."""
    path = deadline_file(exchange, course, LAB)
    path.parent.mkdir(parents=True)
    path.write_bytes(content_of(deadline))


def lab(place: Path, *above: str) -> Path:
    """The folder of the lab, in folders of these names."""
    folder = place.joinpath("home", *above, LAB)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def test_on_the_hub_it_is_the_students_own_also_where_it_was_extended(place, monkeypatch):
    monkeypatch.setenv("LOCKSTEP_EXCHANGE", str(place / "exchange"))
    for student, deadline in (("ada", OWN), ("li", COMMON)):
        monkeypatch.setenv("JUPYTERHUB_USER", student)
        assert deadline_here(lab(place, "hpc")) == deadline


def test_elsewhere_nbgraders_own_configuration_names_exchange_and_student(place):
    assert deadline_here(lab(place, "labs")) is None
    (place / "settings" / "nbgrader_config.json").write_text('{"CourseDirectory": {"student_id": "ada"}}')
    (place / "settings" / "nbgrader_config.py").write_text(
        f"c = get_config()\nc.Exchange.root = {str(place / 'exchange')!r}\n"
    )
    assert deadline_here(lab(place, "labs")) == OWN
    assert deadline_here(lab(place).with_name("04_collectives")) is None


def test_of_several_courses_it_is_that_of_the_folder_or_of_the_configuration_and_no_guess(place):
    release(place / "exchange", "ml", OWN)
    config = place / "settings" / "nbgrader_config.py"
    config.write_text(f"c = get_config()\nc.Exchange.root = {str(place / 'exchange')!r}\n")
    assert deadline_here(lab(place, "labs")) is None
    assert (deadline_here(lab(place, "hpc")), deadline_here(lab(place, "ml"))) == (COMMON, OWN)
    config.write_text(config.read_text() + "c.CourseDirectory.course_id = 'ml'\n")
    assert deadline_here(lab(place, "labs")) == OWN


def test_what_was_packed_with_the_lab_counts_where_no_exchange_knows_it_and_nothing_fails(place):
    (lab(place) / BESIDE).write_bytes(content_of(COMMON))
    assert deadline_here(lab(place)) == COMMON
    (lab(place) / BESIDE).write_bytes(b"\xff tomorrow")
    (place / "settings" / "nbgrader_config.py").write_text("import nothing_of_this_name")
    (place / "settings" / "nbgrader_config.json").write_text("{")
    assert deadline_here(lab(place)) is None


def test_it_is_told_in_the_time_of_the_machine_and_how_long_that_is():
    when = f"{COMMON.replace(tzinfo=UTC).astimezone():%H:%M}"
    before, after = (
        deadline_sentence(COMMON, datetime(2027, 1, 28, 18, 59)),
        deadline_sentence(COMMON, datetime(2027, 1, 31, 23, 9)),
    )
    assert before.startswith("Hand in by ") and f" 2027, {when} " in before and before.endswith(": in 3 d 4 h.")
    assert after.startswith("The deadline was ") and after.endswith(", 10 min ago: what you hand in now is late.")
