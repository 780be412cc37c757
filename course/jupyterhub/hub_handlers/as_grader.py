"""Pages of a course for its instructors, and `./lockstep`'s commands, run for them as the course's grader.

So the hub, which is root, neither reads nor writes what instructors write.
"""

from __future__ import annotations

from collections.abc import Mapping

from jupyterhub.handlers import BaseHandler
from tornado import web

from course.jupyterhub.courses import Course
from course.jupyterhub.pages.command import CommandOutput, lockstep
from course.jupyterhub.place import Place, as_grader_runs
from course.lab_choice import NAME


class CoursePage(BaseHandler):
    """A page of a course, for its instructors."""

    def initialize(self, place: Place, courses: Mapping[str, Course]) -> None:
        """courses: by name."""
        self.place, self.courses = place, courses

    def service_of(self, name: str, lab: str = "") -> object:
        """The service of a course whose instructor asks. lab: of it, if the page is on one. Raises HTTPError, 404, for
        everybody else, and for a name that no lab can have."""
        found = (each for each in self.get_accessible_services(self.current_user) if each.name == name)
        service = next(found, None)
        if service is None or name not in self.courses or (lab and not NAME.fullmatch(lab)):
            raise web.HTTPError(404)
        return service

    async def lockstep(self, name: str, *command: str, patience: float) -> CommandOutput:
        """Run a command of `./lockstep` in a course's folder, and end it after `patience` seconds."""
        course = self.courses[name]
        return await lockstep(*command, patience=patience, **as_grader_runs(course, self.place.course(course)))
