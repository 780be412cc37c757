"""Releases deadlines with the assignment, for students to see, and says how late something is.

An assignment's due date is in the gradebook, which students cannot read. So the exchange holds a copy, next to the
assignment's folder: inside, it would be fetched, and be wrong once the date changes. Late penalties follow the
gradebook. If its date changes later, releasing the lab again tells students. Extensions are in the
gradebook, too, where nbgrader keeps them: with the student's submission.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from nbgrader.api import Gradebook, MissingEntry
from nbgrader.exchange.default import ExchangeReleaseAssignment
from nbgrader.utils import parse_utc

from course.exchange.due import content_of, deadline_file, duration, extension_file
from course.exchange.extensions import write_extension
from course.exchange.folders import INBOUND
from course.files import write_whole


@dataclass(frozen=True)
class Deadlines:
    """An assignment's deadlines. common: the class's, naive UTC; None if there is none. extensions: by student."""

    common: datetime | None
    extensions: dict[str, timedelta] = field(default_factory=dict)

    def of(self, student: str) -> datetime | None:
        """A student's own deadline."""
        return None if self.common is None else self.common + self.extensions.get(student, timedelta(0))


class PrivateRelease(ExchangeReleaseAssignment):
    """nbgrader's release, extended by the deadline and by an inbound folder that keeps submissions apart."""

    def init_dest(self) -> None:
        """Make the course's folders if they are missing."""
        super().init_dest()
        Path(self.inbound_path).chmod(INBOUND)

    def copy_files(self) -> None:
        """Release the assignment, and its deadline if the gradebook has one."""
        super().copy_files()
        course, assignment = self.coursedir.course_id, self.coursedir.assignment_id
        path = deadline_file(self.root, course, assignment)
        due = deadlines(self.coursedir.db_url, course, assignment)
        if due.common is None:
            path.unlink(missing_ok=True)
            return
        write_whole(path, content_of(due.common))
        path.chmod(0o644)
        self.log.info(
            "Deadline: %s UTC. Students are told this one until the lab is released again: `./lockstep release %s`, or "
            "Release again on its card",
            due.common,
            assignment,
        )
        for student in due.extensions:
            if not write_extension(extension_file(self.root, course, assignment, student), student, due.of(student)):
                self.log.warning("%s cannot be shown the extension here; tell the student yourself", student)


def deadlines(gradebook: str, course: str, assignment: str) -> Deadlines:
    """An assignment's deadlines in the gradebook (a URL)."""
    with Gradebook(gradebook, course) as open_gradebook:
        try:
            found = open_gradebook.find_assignment(assignment)
        except MissingEntry:
            return Deadlines(None)
        return Deadlines(found.duedate, {one.student.id: one.extension for one in found.submissions if one.extension})


def how_late(timestamp: str, deadline: datetime | None) -> str:
    """How late a time in nbgrader's format is, in words; empty if it is not late, or there is no deadline."""
    if deadline is None:
        return ""
    late = parse_utc(timestamp) - deadline
    return duration(late) if late > timedelta(0) else ""
