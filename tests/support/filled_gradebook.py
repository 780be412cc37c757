"""A course whose gradebook is filled by nbgrader's own API, so that nothing has to be graded."""

from __future__ import annotations

import shutil
from pathlib import Path

from classroom import Classroom
from small_course import LAB, make_course

from autograde.classroom.nbgrader_course import Course

NAMES = {
    "ada": ("Ada", "Lovelace"),
    "li": ("雷", "李"),
    "o'neil": ("Shaun", "O'Neil"),
    "noor": ("نور", "العلي"),
    "thora": ("Þóra", "Ægisdóttir"),
    "=1+1": ("=cmd|' /C calc'!A0", "@SUM(1+1)"),
}


def filled(root: Path) -> Classroom:
    """The class of `NAMES`, whose lab is registered and to which nobody has handed in anything."""
    room = Classroom(make_course(root), LAB)
    assert room.lockstep("build").exit_code == 0
    Course(room.root).register(LAB)
    with room.gradebook() as gradebook:
        for number, (student, (first, last)) in enumerate(NAMES.items()):
            email = f"{number}@example.org"
            gradebook.add_student(student, first_name=first, last_name=last, email=email, lms_user_id=f"{100 + number}")
    return room


def add_lab(room: Classroom, lab: str) -> None:
    """Put another lab like the first into the course and its gradebook."""
    shutil.copytree(room.root / "solutions" / LAB, room.root / "solutions" / lab)
    assert room.lockstep("build", lab).exit_code == 0
    Course(room.root).register(lab)


def hand_in(
    room: Classroom, student: str, double: float, total: float, when: str = "2026-01-02 10:00:00", lab: str = LAB
) -> None:
    """Put a graded submission into the gradebook: points of the lab's two TODOs."""
    with room.gradebook() as gradebook:
        gradebook.update_or_create_submission(lab, student, timestamp=when)
        for todo, points in (("double", double), ("total", total)):
            grade = gradebook.find_grade(f"{todo}-check", lab, lab, student)
            grade.auto_score, grade.needs_manual_grade = points, False
        gradebook.db.commit()


def deadline(room: Classroom, when: str | None, lab: str = LAB) -> None:
    """Set the class's deadline, in UTC."""
    with room.gradebook() as gradebook:
        gradebook.update_or_create_assignment(lab, duedate=when)


def comment(room: Classroom, student: str, text: str) -> None:
    """Comment on a student's first TODO, as in the formgrader."""
    with room.gradebook() as gradebook:
        gradebook.find_comment("double", LAB, LAB, student).manual_comment = text
        gradebook.db.commit()
