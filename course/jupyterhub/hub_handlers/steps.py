"""What an instructor does with a lab by a button of the card: release, grade, feedback, marks, an extension.

Each is a form without JavaScript, and a command of `./lockstep`, whose words are shown.
"""

from __future__ import annotations

from pathlib import PurePath

from tornado import web

from course.jupyterhub.hub_handlers.as_grader import CoursePage

URL = r"/courses/([^/]+)/labs/([^/]+)/(release|grade|feedback|marks|extension)"
PROGRESS = "class-grading"  # of a course's server: see autograde.class_pages.grading
PATIENCE = 900  # seconds: the feedback of a large class is written again
FORMATS = {"moodle": "Moodle", "canvas": "Canvas", "csv": "CSV"}


class StepOfCourse(CoursePage):
    """Takes a step with a lab, for the instructors of its course."""

    @web.authenticated
    async def post(self, name: str, lab: str, step: str) -> None:
        """Take it, and show what came of it."""
        service = self.service_of(name, lab)
        title, command = getattr(self, step)(lab)
        said = await self.lockstep(name, *command, patience=PATIENCE)
        if step == "grade" and not said.why:  # it has begun, or was on: the course's own server shows how far it is
            self.redirect(f"{service.href}{PROGRESS}/{lab}", status=303)
            return
        lines, file = list(said.lines), ""
        if step == "marks" and not said.why:  # its last line is the path of the file
            file = "/".join(PurePath(lines.pop()).relative_to(self.place.course(self.courses[name])).parts)
        self.set_header("Cache-Control", "no-store")
        known = {
            "course": service,
            "title": title,
            "lines": lines,
            "warnings": said.more,
            "why": said.why,
            "file": file,
        }
        self.finish(await self.render_template("step.html", **known))

    def release(self, lab: str) -> tuple[str, list[str]]:
        """Students get the lab, or its corrected text, with the deadline that the form names, if it names one."""
        deadline = self.get_body_argument("deadline", "").strip()
        return f"Release of {lab}", ["release", *([f"--deadline={deadline}"] if deadline else []), "--", lab]

    def grade(self, lab: str) -> tuple[str, list[str]]:
        """All that is handed in is collected and graded, in the background."""
        return f"Grading of {lab}", ["grade", "--background", lab]

    def feedback(self, lab: str) -> tuple[str, list[str]]:
        """Feedback goes to all who are graded."""
        return f"Feedback on {lab}", ["feedback", lab]

    def marks(self, lab: str) -> tuple[str, list[str]]:
        """Marks go into a file, in the format that the form names. Raises HTTPError for another one."""
        system = self.get_body_argument("format")
        if system not in FORMATS:
            raise web.HTTPError(400, reason="There is no such format")
        return f"Marks of {lab} for {FORMATS[system]}", ["grades", "--format", system, lab]

    def extension(self, lab: str) -> tuple[str, list[str]]:
        """A student gets more time, until when the form says."""
        student, until = (self.get_body_argument(name).strip() for name in ("student", "until"))
        return f"Extension of {lab} for {student}", ["extend", "--", lab, student, until]
