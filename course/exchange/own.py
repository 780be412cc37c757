"""What nbgrader shows a student of what was handed in, by the receipts: the list of it, and the feedback."""

from __future__ import annotations

from pathlib import Path

from nbgrader.exchange.default import ExchangeFetchFeedback, ExchangeList

from course.exchange.deadlines import how_late
from course.exchange.due import read_deadline, to_the_minute
from course.exchange.receipts import Receipts, reader


class OwnList(ExchangeList):
    """nbgrader's list, with deadlines and how late a submission was, so that the Assignment List shows them."""

    def init_dest(self) -> None:
        """Find what is listed: of what the student has handed in, the receipts."""
        super().init_dest()
        if not self.cached:
            return
        course = self.coursedir.course_id
        courses = [course] if course else sorted(path.parent.name for path in Path(self.root).glob("*/inbound"))
        found = (Receipts(self, each).of(self.coursedir.assignment_id) for each in courses)
        self.assignments = sorted(str(path) for each in found for path in each)

    def parse_assignments(self) -> list[dict]:
        """nbgrader's list; `timestamp` of a late submission is like "2026-01-31 12:00:00.000000 UTC, 2 h late".

        `notebook_id` of a lab that was fetched is like "03_pi_allreduce, due 2026-01-31 12:00 UTC": the Assignment List
        shows it, and uses it for nothing else.
        """
        assignments = super().parse_assignments()
        for assignment in assignments:
            student = assignment.get("student_id") or reader(self.coursedir)
            deadline = read_deadline(self.root, assignment["course_id"], assignment["assignment_id"], student)
            for notebook in assignment["notebooks"] if deadline and assignment["status"] == "fetched" else []:
                notebook["notebook_id"] += f", due {to_the_minute(deadline)}"
            for submission in assignment.get("submissions", []):
                if late := how_late(submission["timestamp"], deadline):
                    submission["timestamp"] += f", {late} late"
        return assignments

    def remove_files(self) -> None:
        """List and remove, but for receipts."""
        if self.cached:
            self.fail("Receipts of what you handed in are kept: by them you get your feedback. They take no room.")
        return super().remove_files()


class OwnFeedback(ExchangeFetchFeedback):
    """nbgrader's way to fetch feedback, by the receipts."""

    def init_src(self) -> None:
        """Find the feedback that there is."""
        if self.coursedir.course_id:
            self.cache = str(Receipts(self, self.coursedir.course_id).folder.parent)
        super().init_src()
