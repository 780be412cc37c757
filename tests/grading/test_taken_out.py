"""The commands of docs/admins.md that take one student out of a course leave nothing of that student."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from classroom import REPOSITORY, Classroom
from small_course import LAB, make_course

STUDENT, OTHER = "xanthippe", "bob"


def blocks() -> list[str]:
    """What is typed in the course's terminal, and what by root in the hub's folder, for STUDENT."""
    page = (REPOSITORY / "docs" / "admins.md").read_text(encoding="utf-8")
    section = re.search(r"^## What is stored of students\n(.*?)^## ", page, re.MULTILINE | re.DOTALL)[1]
    found = re.findall(r"^```\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    return [re.sub(r"\bada\b", STUDENT, block) for block in found]


def naming(*folders: Path) -> list[str]:
    """Files and folders that have STUDENT in their name or content."""
    there = [path for folder in folders for path in folder.rglob("*")]
    return [str(path) for path in there if STUDENT in path.name or has_name(path)]


def has_name(path: Path) -> bool:
    """Whether a file has STUDENT in it."""
    return path.is_file() and STUDENT.encode() in path.read_bytes()


def test_after_the_commands_of_the_page_nothing_is_left_of_a_student(tmp_path: Path):
    room = Classroom(make_course(tmp_path / "course"), LAB)
    assert room.lockstep("build").exit_code == 0
    assert room.lockstep("enrol", f"{STUDENT}=Xanthippe of Athens", f"{OTHER}=Bob").exit_code == 0
    assert room.lockstep("release", LAB, "--deadline", "2099-01-01T12:00").exit_code == 0
    for student in (STUDENT, OTHER):
        room.submit(student, room.answered({"double": f"def double(x):\n    return 2 * x  # {student}"}))
    for command in (
        ("grade", LAB, "--no-sandbox"),
        ("feedback", LAB),
        ("extend", LAB, STUDENT, "3d"),
        ("report", LAB),
        ("report",),
        ("grades", LAB, "--format", "csv"),
    ):
        assert (done := room.lockstep(*command)).exit_code == 0, done.output
    assert len(naming(room.root, room.exchange)) > 8

    in_terminal, by_root = blocks()
    programs = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "JUPYTER_CONFIG_PATH": str(REPOSITORY)}
    subprocess.run(["bash", "-ec", in_terminal], cwd=room.root, env=room.environment | programs, check=True)
    at_root = by_root.replace("exchange/hpc", str(room.exchange / "lockstep"))
    subprocess.run(["bash", "-ec", at_root], cwd=room.root, check=True)

    assert naming(room.root, room.exchange) == []
    assert (room.root / "class" / "submitted" / OTHER / LAB).is_dir()
    assert room.lockstep("grade", LAB, "--no-collect").exit_code == 0
    assert room.rows().keys() == {OTHER}
    assert room.scores() == {OTHER: 2}
