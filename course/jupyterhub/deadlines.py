"""Deadlines that students are told of: released with the assignment, and shown beside what was handed in.

The gradebook has an assignment's due date, and students have no gradebook. So the date lies in the exchange, beside the
assignment's folder, and not in it, where it would be fetched, and be wrong when the date changes. What counts for late
penalties is the gradebook's date. If that is changed later, `nbgrader release_assignment LAB --force` tells students.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

from nbgrader.api import Gradebook, MissingEntry
from nbgrader.exchange.default import ExchangeList, ExchangeReleaseAssignment
from nbgrader.utils import parse_utc

from course.whole import write_whole

INBOUND = 0o3733  # anybody adds, nobody lists, and only its owner (or the grader) renames or deletes what is there


class PrivateRelease(ExchangeReleaseAssignment):
    """nbgrader's release, with the deadline, into a course's folder that keeps hand-ins apart."""

    def init_dest(self) -> None:
        """Make the course's folders where they are missing."""
        super().init_dest()
        Path(self.inbound_path).chmod(INBOUND)

    def copy_files(self) -> None:
        """Release the assignment, then its deadline, if the gradebook has one."""
        super().copy_files()
        course, assignment = self.coursedir.course_id, self.coursedir.assignment_id
        path = deadline_file(self.root, course, assignment)
        due = due_date(self.coursedir.db_url, course, assignment)
        if due is None:
            path.unlink(missing_ok=True)
            return
        write_whole(path, f"{due:%Y-%m-%d %H:%M:%S} UTC\n".encode())
        path.chmod(0o644)
        self.log.info("Deadline: %s UTC. If you change it, release again with --force: students are told this one", due)


class DatedList(ExchangeList):
    """nbgrader's list, where a submission's time says how late it was; the Assignment List shows it at once."""

    def parse_assignments(self) -> list[dict]:
        """nbgrader's, with `timestamp` of what was handed in late as "2026-01-31 12:00:00.000000 UTC, 2 h late"."""
        found = super().parse_assignments()
        for one in found:
            for submission in one.get("submissions", []):
                deadline = read_deadline(self.root, one["course_id"], one["assignment_id"])
                if late := how_late(submission["timestamp"], deadline):
                    submission["timestamp"] += f", {late} late"
        return found


def due_date(gradebook: str, course: str, assignment: str) -> datetime | None:
    """An assignment's due date in the gradebook (a URL), in UTC without saying so; None if there is none."""
    with Gradebook(gradebook, course) as open_gradebook:
        try:
            return open_gradebook.find_assignment(assignment).duedate
        except MissingEntry:
            return None


def deadline_file(root: Path | str, course: str, assignment: str) -> Path:
    """Where an assignment's deadline is in the exchange at `root`. Neither `list` nor `fetch` looks there."""
    return Path(root, course, "outbound", f".{assignment}.deadline")


def read_deadline(root: Path | str, course: str, assignment: str) -> datetime | None:
    """The deadline that was released with an assignment, in UTC without saying so; None if there is none."""
    try:
        return parse_utc(deadline_file(root, course, assignment).read_text().strip())
    except (OSError, ValueError):
        return None


def how_late(timestamp: str, deadline: datetime | None) -> str:
    """How much later than the deadline a time in nbgrader's form is, in words; empty if it is not."""
    if deadline is None:
        return ""
    late = parse_utc(timestamp) - deadline
    return duration(late) if late > timedelta(0) else ""


def duration(span: timedelta) -> str:
    """A time span in its two largest units: "3 d 4 h", "12 min", "5 s"."""
    seconds = int(span.total_seconds())
    parts = [(seconds // 86400, "d"), (seconds // 3600 % 24, "h"), (seconds // 60 % 60, "min"), (seconds % 60, "s")]
    while len(parts) > 1 and not parts[0][0]:
        parts.pop(0)
    return " ".join(f"{number} {unit}" for number, unit in parts[:2] if number) or "less than 1 s"
