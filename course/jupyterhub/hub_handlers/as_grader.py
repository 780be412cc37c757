"""Runs `./lockstep`'s commands for a course's instructors, as the course's grader.

So the hub, which is root, neither reads nor writes what instructors write.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass

from jupyterhub.handlers import BaseHandler
from tornado import web

from course.jupyterhub.courses import Course
from course.jupyterhub.place import Place, as_grader_runs


@dataclass(frozen=True)
class Said:
    """What a command said. why: it failed, in one line; empty if it did not. more: what it warned of."""

    lines: list[str]
    why: str = ""
    more: tuple[str, ...] = ()


async def lockstep(place: Place, course: Course, *command: str, patience: float) -> Said:
    """Run a command of `./lockstep` in a course's folder, and end it after `patience` seconds."""
    settings = as_grader_runs(course, place.course(course))
    try:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "autograde", *command), stdout=subprocess.PIPE, stderr=subprocess.PIPE, **settings
        )
        try:
            said, complaint = await asyncio.wait_for(process.communicate(), patience)
        finally:
            with suppress(ProcessLookupError):
                process.kill()
    except TimeoutError:
        return Said([], f"it took more than {patience:.0f} seconds")
    except OSError as error:
        return Said([], str(error))
    lines, more = ([*filter(None, text.decode(errors="replace").splitlines())] for text in (said, complaint))
    if process.returncode:
        return Said(lines, (more or lines or ["no reason is given"])[-1].removeprefix("Error: "))
    return Said(lines, "", tuple(more))


def service_of(handler: BaseHandler, name: str) -> object:
    """The service of a course whose instructor asks. Raises HTTPError, 404, for everybody else."""
    service = next((each for each in handler.get_accessible_services(handler.current_user) if each.name == name), None)
    if service is None:
        raise web.HTTPError(404)
    return service
