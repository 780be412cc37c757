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
        """Release all pages but those of `left_out`, which are named in the log."""
        excluded = self.coursedir.student_id_exclude
        skipped = set(filter(None, excluded.split(",")))
        for student, why in self.left_out().items():
            if student not in skipped:
                self.log.warning("%s", why)
                skipped.add(student)
        self.coursedir.student_id_exclude = ",".join(sorted(skipped))
        try:
            super().copy_files()
        finally:
            self.coursedir.student_id_exclude = excluded

    def left_out(self) -> dict[str, str]:
        """Who gets no page, and why, in words, by student: those of work that did not come through the exchange."""
        found = {}
        for student, folder in self.folders("feedback").items():
            page = folder / f"{self.coursedir.assignment_id}.html"
            if page.exists() and not (folder / SECRET).exists():
                found[student] = f"{student} did not hand in through the exchange; send the feedback: {page}"
            elif page.exists():
                (folder / TIMESTAMP).touch()  # only shown; an instructor may have deleted it
        return found

    def folders(self, step: str) -> dict[str, Path]:
        """The folders of a lab after a step, "autograded" or "feedback", by student, of those who are asked for."""
        where, asked = getattr(self.coursedir, f"{step}_directory"), self.coursedir.student_id or "*"
        pattern = self.coursedir.format_path(where, asked, self.coursedir.assignment_id)
        return {folder.parent.name: folder for folder in sorted(Path("/").glob(pattern.lstrip("/")))}
