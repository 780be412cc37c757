"""Feedback is released for marks that are as they would be now; who gets none, though graded, is named."""

from __future__ import annotations

from pathlib import Path

from autograde.contract.labs import LabError, find_lab
from course.exchange.feedback import PlainReleaseFeedback


class ReleaseFeedback(PlainReleaseFeedback):
    """The release of feedback, wherever our nbgrader_config.py is read."""

    def copy_files(self) -> None:
        """Release all pages but those of marks that are to be graded again. Who is graded and gets no page is named in
        the log, with the next step."""
        from autograde.classroom import feedback, grades  # only now: they read the configuration that names this class
        from autograde.classroom.nbgrader_course import Course, printable

        directory, lab = self.coursedir, self.coursedir.assignment_id
        excluded, course = directory.student_id_exclude, Course(Path(self.coursedir.root))
        try:
            again = grades.to_be_graded_again(course, find_lab(course.root, lab))
        except LabError as error:
            again = {}
            self.log.warning("%s: what it measures by is not known: %s", lab, error)
        for student, reason in again.items():
            self.log.warning(
                "%s: feedback is not released: %s; `lockstep grade %s` grades again", printable(student), reason, lab
            )
        pattern = directory.format_path(directory.autograded_directory, directory.student_id or "*", lab)
        students = [folder.parent.name for folder in sorted(Path("/").glob(pattern.lstrip("/")))]
        without = [student for student in feedback.without_page(course, lab, students) if student not in again]
        for student in without:
            self.log.warning(
                "%s: no feedback is released, as there is none of the last grading; `lockstep grade %s` writes it",
                printable(student),
                lab,
            )
        directory.student_id_exclude = ",".join([*filter(None, excluded.split(",")), *again, *without])
        try:
            super().copy_files()
        finally:
            directory.student_id_exclude = excluded
