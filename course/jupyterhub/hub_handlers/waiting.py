"""How the labs of a course stand, and what waits for its instructors, for the card on their first page.

`./lockstep waiting` knows it, and takes seconds: so the page asks for it once it is shown. Where the machine is so busy
that it takes too long, the page asks again by itself, and then waits longer.
"""

from __future__ import annotations

import json
import re
from typing import Any

from tornado import web

from course.jupyterhub.hub_handlers.as_grader import CoursePage
from course.jupyterhub.pages.command import CommandOutput

URL = r"/waiting/([^/]+)"
PATIENCE = 90  # seconds for the first answer, on a machine where a class begins
AGAIN = 10  # seconds after which the page asks again


class WaitingOfCourse(CoursePage):
    """The list of a course's labs, as a part of a page, for its instructors."""

    @web.authenticated
    async def get(self, name: str) -> None:
        """The list, or one sentence on why there is none; 503 with Retry-After if it took too long."""
        service = self.service_of(name)
        patience = patience_of(self.get_query_argument("asked", "0"))
        said = await self.lockstep(name, "waiting", "--json", patience=patience)
        labs, why = labs_of(said)
        self.set_header("Cache-Control", "no-store")
        if said.late:
            self.set_status(503)
            self.set_header("Retry-After", AGAIN)
        known = {"course": service, "labs": labs, "why": why, "late": said.late}
        self.finish(await self.render_template("waiting.html", **known, students=self.courses[name].students))


def patience_of(asked: str) -> float:
    """How long an answer may take, in seconds. asked: how often the page has asked before: each time it waits twice as
    long, eight times at most."""
    return PATIENCE * 2 ** min(3, int(asked) if re.fullmatch("[0-9]{1,9}", asked) else 0)


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
