"""What waits for the instructors of a course, for the card on their first page.

`./lockstep waiting` knows it, and takes seconds: so the page asks for it once it is shown. The command runs as the
course's grader, so that the hub, which is root, reads nothing that instructors write.
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress

from jupyterhub.handlers import BaseHandler
from tornado import web

from course.jupyterhub.courses import Course
from course.jupyterhub.place import Place, as_grader_runs

URL = r"/waiting/([^/]+)"
PATIENCE = 90  # seconds, on a machine where a class begins


class WaitingOfCourse(BaseHandler):
    """The list of a course's labs, as a part of a page, for its instructors."""

    def initialize(self, place: Place, courses: Mapping[str, Course]) -> None:
        """courses: by name."""
        self.place, self.known = place, courses

    @web.authenticated
    async def get(self, name: str) -> None:
        """The list, or one sentence on why there is none."""
        service = next((each for each in self.get_accessible_services(self.current_user) if each.name == name), None)
        if service is None or name not in self.known:
            raise web.HTTPError(404)
        labs, why = await ask(self.place, self.known[name])
        self.set_header("Cache-Control", "no-store")
        self.finish(await self.render_template("waiting.html", course=service, labs=labs, why=why))


async def ask(place: Place, course: Course) -> tuple[list[dict], str]:
    """What waits, by lab: name, title, and numbers of students to_grade, again (to be graded), to_read and
    to_release. Or why that is not known."""
    command = [sys.executable, "-m", "autograde", "waiting", "--json"]
    settings = as_grader_runs(course, place.course(course))
    try:
        process = await asyncio.create_subprocess_exec(
            *command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **settings
        )
        try:
            said, complaint = await asyncio.wait_for(process.communicate(), PATIENCE)
        finally:
            with suppress(ProcessLookupError):
                process.kill()
        if process.returncode:
            lines = complaint.decode(errors="replace").strip().splitlines() or ["no reason is given"]
            return [], lines[-1].removeprefix("Error: ")
        return json.loads(said), ""
    except TimeoutError:
        return [], f"it took more than {PATIENCE} seconds to find out"
    except (OSError, ValueError) as error:
        return [], str(error)


def own_name(user: str) -> str:
    """A name of letters, digits and _ for what is a user's own in a server that several share, as a terminal."""
    return "of_" + re.sub(r"[^A-Za-z0-9]", lambda letter: f"_{ord(letter[0]):x}_", user)
