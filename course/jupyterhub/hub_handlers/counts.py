"""A student's hand-ins of a lab, and which of them counts, for instructors: `./lockstep counts`, on a page."""

from __future__ import annotations

import json

from tornado import web

from course.jupyterhub.hub_handlers.as_grader import CoursePage

URL = r"/courses/([^/]+)/labs/([^/]+)/counts"
PATIENCE = 90  # seconds, on a machine where a class begins


class HandInsOfStudent(CoursePage):
    """Lists what a student handed in of a lab, and lets one of them count."""

    @web.authenticated
    async def post(self, name: str, lab: str) -> None:
        """The page, after the choice that the form names, if it does: `time`, or "last" to take one back."""
        service = self.service_of(name, lab)
        student, time = (self.get_body_argument(each, "").strip() for each in ("student", "time"))
        command = ["counts", "--json", "--", lab, student, *([time] if time else [])]
        said = await self.lockstep(name, *command, patience=PATIENCE)
        known = {
            "course": service,
            "lab": lab,
            "student": student,
            "hand_ins": [] if said.why else json.loads(said.lines[-1]),
            "lines": [] if said.why else said.lines[:-1],
            "why": said.why,
        }
        self.set_header("Cache-Control", "no-store")
        self.finish(await self.render_template("counts.html", **known))
