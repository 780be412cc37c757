"""Feedback is released for marks that are as they would be now; who gets none, though graded, is named."""

from __future__ import annotations

from pathlib import Path

from autograde.classroom import feedback, grades
from autograde.classroom.errors import printable
from autograde.classroom.nbgrader_course import Course
from autograde.labs.folder import LabError, find_lab
from course.exchange.feedback import PlainReleaseFeedback


class ReleaseFeedback(PlainReleaseFeedback):
    """The release of feedback, wherever our nbgrader_config.py is read."""

    def left_out(self) -> dict[str, str]:
        """Also those whose marks are to be graded again, and those who are graded and have no page, with the next
        step."""
        lab, course = self.coursedir.assignment_id, Course(Path(self.coursedir.root))
        try:
            again = grades.to_be_graded_again(course, find_lab(course.root, lab))
        except LabError as error:
            again = {}
            self.log.warning("%s: what it measures by is not known: %s", lab, error)
        found = {
            student: f"{printable(student)}: feedback is not released: {reason}; `lockstep grade {lab}` grades again"
            for student, reason in again.items()
        }
        for student in feedback.without_page(course, lab, self.folders("autograded")):
            found.setdefault(
                student,
                f"{printable(student)}: no feedback is released, as there is none of the last grading; `lockstep grade "
                f"{lab}` writes it",
            )
        return super().left_out() | found
