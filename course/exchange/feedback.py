"""Releases feedback, also in a class where some work came by mail.

nbgrader gives a student the page by the secret that was handed in with the work. What an instructor put into
`class/submitted` has none, and would stop the release for everybody: its page is a file to send back.
"""

from __future__ import annotations

from pathlib import Path

from nbgrader.exchange.default import ExchangeReleaseFeedback

from course.exchange.names import SECRET, TIMESTAMP


class PlainReleaseFeedback(ExchangeReleaseFeedback):
    """nbgrader's release of feedback. It replaces nbgrader's own wherever our nbgrader_config.py is read."""

    def copy_files(self) -> None:
        """Release the pages of what was handed in through the exchange, and name the others in the log."""
        directory, lab = self.coursedir, self.coursedir.assignment_id
        excluded = directory.student_id_exclude
        skipped = set(filter(None, excluded.split(",")))
        pattern = directory.format_path(directory.feedback_directory, directory.student_id or "*", lab)
        for folder in sorted(Path("/").glob(pattern.lstrip("/"))):
            student, page = folder.parent.name, folder / f"{lab}.html"
            if student in skipped or not page.exists():
                continue
            if not (folder / SECRET).exists():
                self.log.warning("%s did not hand in through the exchange; send the feedback: %s", student, page)
                skipped.add(student)
            else:
                (folder / TIMESTAMP).touch()  # only shown; an instructor may have deleted it
        directory.student_id_exclude = ",".join(sorted(skipped))
        try:
            super().copy_files()
        finally:
            directory.student_id_exclude = excluded
