"""Runs `./lockstep`'s commands for a course's instructors, as the course's grader.

So the hub, which is root, neither reads nor writes what instructors write.
"""

from __future__ import annotations

from jupyterhub.handlers import BaseHandler
from tornado import web

from course.jupyterhub.courses import Course
from course.jupyterhub.pages.command import Said, lockstep
from course.jupyterhub.place import Place, as_grader_runs


async def lockstep_as_grader(place: Place, course: Course, *command: str, patience: float) -> Said:
    """Run a command of `./lockstep` in a course's folder, and end it after `patience` seconds."""
    return await lockstep(*command, patience=patience, **as_grader_runs(course, place.course(course)))


def service_of(handler: BaseHandler, name: str) -> object:
    """The service of a course whose instructor asks. Raises HTTPError, 404, for everybody else."""
    service = next((each for each in handler.get_accessible_services(handler.current_user) if each.name == name), None)
    if service is None:
        raise web.HTTPError(404)
    return service
