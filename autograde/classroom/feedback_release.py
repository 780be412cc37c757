"""Feedback is released for marks that are as they would be now; whose is to be graded again is named."""

from __future__ import annotations

from pathlib import Path

from autograde.contract.labs import LabError, find_lab
from course.exchange.feedback import PlainReleaseFeedback


class ReleaseFeedback(PlainReleaseFeedback):
    """The release of feedback, wherever our nbgrader_config.py is read."""

    def copy_files(self) -> None:
        """Release all pages but those of marks that are to be graded again, which are named in the log."""
        from autograde.classroom import grades  # only now: they read the configuration that names this class
        from autograde.classroom.nbgrader_course import Course, printable

        directory, lab = self.coursedir, self.coursedir.assignment_id
        excluded, root = directory.student_id_exclude, Path(self.coursedir.root)
        try:
            again = grades.to_be_graded_again(Course(root), find_lab(root, lab))
        except LabError as error:
            again = {}
            self.log.warning("%s: what it measures by is not known: %s", lab, error)
        for student, reason in again.items():
            self.log.warning(
                "%s: feedback is not released: %s; `lockstep grade %s` grades again", printable(student), reason, lab
            )
        directory.student_id_exclude = ",".join([*filter(None, excluded.split(",")), *again])
        try:
            super().copy_files()
        finally:
            directory.student_id_exclude = excluded
