"""How the labs of a course stand, and what waits for its instructors, for the card on their first page.

`./lockstep waiting` knows it, and takes seconds: so the page asks for it once it is shown.
"""

from __future__ import annotations

import json
import re
from typing import Any

from tornado import web

from course.jupyterhub.hub_handlers.as_grader import CoursePage
from course.jupyterhub.pages.command import CommandOutput

URL = r"/waiting/([^/]+)"
PATIENCE = 90  # seconds, on a machine where a class begins


class WaitingOfCourse(CoursePage):
    """The list of a course's labs, as a part of a page, for its instructors."""

    @web.authenticated
    async def get(self, name: str) -> None:
        """The list, or one sentence on why there is none."""
        service = self.service_of(name)
        labs, why = labs_of(await self.lockstep(name, "waiting", "--json", patience=PATIENCE))
        self.set_header("Cache-Control", "no-store")
        known = {"course": service, "labs": labs, "why": why, "students": self.courses[name].students}
        self.finish(await self.render_template("waiting.html", **known))


def labs_of(said: CommandOutput) -> tuple[list[dict[str, Any]], str]:
    """The labs that the command told of, and why there are none; that is empty where it told."""
    try:
        return ([], said.why) if said.why else (json.loads(said.lines[-1]), "")
    except (IndexError, ValueError):
        instead = "; ".join([*said.lines[-1:], *said.more[-1:]])
        return [], "`./lockstep waiting --json` printed no JSON" + (f": {instead}" if instead else "")


def own_name(user: str) -> str:
    """A name of letters, digits and _ for what is a user's own in a server that several share, as a terminal."""
    return "of_" + re.sub(r"[^A-Za-z0-9]", lambda letter: f"_{ord(letter[0]):x}_", user)
