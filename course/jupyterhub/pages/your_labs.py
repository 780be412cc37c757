"""The first page of a student's server on the hub: the courses' labs, each with its state and the next step.

An extension of Jupyter Server. Its forms need no JavaScript: each step is a POST that ends in the next page.
"""

from __future__ import annotations

import asyncio
import os
from datetime import UTC, datetime
from pathlib import Path

from jinja2 import Template
from jupyter_server.auth.decorator import authorized
from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.serverapp import ServerApp
from jupyter_server.utils import url_path_join
from nbgrader.apps import NbGrader
from tornado import web
from tornado.escape import url_escape

from course.corrections.own_folder import CorrectionResult
from course.exchange.handed_in.again import ConfirmationNeeded, Unchanged
from course.homes.look import notices
from course.homes.settings import put_damaged_aside
from course.jupyterhub.pages.confirmation import confirmation
from course.jupyterhub.pages.corrected_text import correct_lab
from course.jupyterhub.pages.hub_address import hub_address
from course.jupyterhub.pages.lab_states import LabState, course_state, course_states
from course.jupyterhub.pages.lectures import COPIES, copy_lectures, open_copy
from course.jupyterhub.pages.renamed import rename_back
from course.jupyterhub.pages.rendering import hub_pages
from course.jupyterhub.pages.student_exchange import StudentExchange, Unavailable
from course.overview.entries import lecture_entries

URL = "labs"
LECTURES = Path(__file__).resolve().parents[2] / "lectures"


class YourLabs(JupyterHandler):
    """Shows the labs, and takes the student's next step with one of them."""

    auth_resource = "contents"

    def initialize(self, exchange: StudentExchange, lectures: Path, template: Template) -> None:
        """exchange: the student's. lectures: the folder with the course's lectures, which need not be there."""
        self.exchange, self.lectures, self.template = exchange, lectures, template

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """The page. The argument `handed_in`, as COURSE/LAB, confirms that this lab was just handed in."""
        await asyncio.to_thread(put_damaged_aside)  # the page leads to JupyterLab
        self.finish(await self.page(handed_in=self.get_argument("handed_in", "")))

    @web.authenticated
    @authorized
    async def post(self) -> None:
        """Take a step (fetch, hand_in, rename, feedback, lecture or correct), and go to what comes next; if it is not
        taken, say why, or ask. JupyterLab gets what is said of it as JSON: `kind`, and `text`."""
        step, course, lab = (self.get_body_argument(name, "") for name in ("step", "course", "lab"))
        take = {
            "fetch": self.fetch,
            "hand_in": self.hand_in,
            "rename": self.rename,
            "feedback": self.feedback,
            "lecture": self.open_lecture,
        }
        try:
            if step == "correct":
                known, corrected = await asyncio.to_thread(self.correct, course, lab)
                self.finish(await self.page(corrected=(known, corrected)))
                return
            if step not in take:
                raise Unavailable(f"There is no step {step!r} here. Choose one of those below.")
            path = await asyncio.to_thread(take[step], course, lab)
        except Unavailable as error:
            await self.say("failed", str(error))
        except Unchanged as error:
            await self.say("unchanged", str(error))
        except ConfirmationNeeded as error:
            await self.say("question", error.question, asked=await asyncio.to_thread(self.known, course, lab))
        else:
            if self.for_jupyterlab:
                done = await asyncio.to_thread(self.known, course, lab)
                await self.say("done", await asyncio.to_thread(confirmation, self.exchange, done))
            else:
                self.redirect(url_path_join(self.base_url, path), status=303)

    @property
    def for_jupyterlab(self) -> bool:
        """Whether JupyterLab asks, which shows no page of ours."""
        return self.request.headers.get("Accept") == "application/json"

    async def say(self, kind: str, text: str, **more: object) -> None:
        """Answer with what is said of a step that was not taken, or with what JupyterLab shows."""
        self.finish({"kind": kind, "text": text} if self.for_jupyterlab else await self.page(**{kind: text}, **more))

    def fetch(self, course: str, lab: str) -> str:
        """Fetch a lab. Returns the page of its notebook."""
        known = self.known(course, lab)
        self.exchange.fetch(course, lab)
        copy_lectures(self.lectures, self.exchange.root, course)  # to which the lab links
        return open_page(known.notebook)

    def hand_in(self, course: str, lab: str) -> str:
        """Hand a lab in. Returns the page of all labs, which confirms it."""
        self.exchange.hand_in(course, self.known(course, lab).name, bool(self.get_body_argument("confirmed", "")))
        return f"{URL}?handed_in={url_escape(f'{course}/{lab}')}"

    def correct(self, course: str, lab: str) -> tuple[LabState, CorrectionResult]:
        """Put a lab's corrected text into the student's folder. Returns the lab and what became of it."""
        if (known := self.known(course, lab)).correction is None:
            raise Unavailable(f"Your folder has the text of {lab} that is released now.")
        return known, correct_lab(self.exchange, known, self.contents_manager.notary)

    def rename(self, course: str, lab: str) -> str:
        """Give a notebook beside the lab's the lab's own name, and keep what has that. Returns the page of all labs."""
        known, where = self.known(course, lab), self.get_body_argument("where", "")
        if where not in known.renamed:
            raise Unavailable(f"{where!r} is not in your folder {known.folder} any more. Look at the lab below.")
        try:
            rename_back(self.exchange.root / known.notebook, where)
        except OSError as error:
            raise Unavailable(f"{where} is not renamed: {error.strerror}. Rename it in JupyterLab.") from error
        return URL

    def feedback(self, course: str, lab: str) -> str:
        """Fetch the feedback on a lab, or what is new of it. Returns the page of the newest."""
        if (found := self.known(course, lab).feedback) is None:
            raise Unavailable(f"There is no feedback on {lab} yet.")
        self.exchange.fetch_feedback(course, lab)
        return f"files/{url_escape(found.path, plus=False).replace('%2F', '/')}"

    def open_lecture(self, _: str, name: str) -> str:
        """Copy the lectures to the student's folder, unless they are there. Returns the page of one's notebook."""
        course = next(iter(self.exchange.courses()), "labs")
        return open_page(open_copy(self.lectures, name, self.exchange.root, course))

    def known(self, course: str, lab: str) -> LabState:
        """The lab of this name. Raises Unavailable."""
        if course in self.exchange.courses():
            found = course_state(self.exchange, course, lab)
            if found.trouble:
                raise Unavailable(found.trouble)
            for one in found.labs:
                if one.name == lab:
                    return one
        raise Unavailable(f"There is no lab {lab!r} in a course {course!r} of yours, or not any more.")

    async def page(
        self,
        failed: str = "",
        unchanged: str = "",
        question: str = "",
        asked: LabState | None = None,
        handed_in: str = "",
        corrected: tuple[LabState, CorrectionResult] | None = None,
    ) -> str:
        """The page's HTML. failed: why a step was not taken. unchanged: that nothing was handed in again. question:
        what is to be answered before the lab `asked` is handed in. handed_in: COURSE/LAB of what just was. corrected:
        the lab whose corrected text was just put into the folder, and what became of that."""
        try:
            courses = await asyncio.to_thread(course_states, self.exchange)
        except Unavailable as error:
            courses, failed = [], str(error)
        done = next((lab for one in courses for lab in one.labs if f"{one.name}/{lab.name}" == handed_in), None)
        done = done if done and done.handed_in else None
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.set_header("Cache-Control", "no-store")
        lectures = await asyncio.to_thread(lecture_entries, self.lectures, self.exchange.root, str(COPIES))
        return self.template.render(
            courses=courses,
            lectures=lectures,
            site=os.environ.get("LOCKSTEP_LECTURES"),
            failed=failed,
            unchanged=unchanged,
            question=question,
            asked=asked,
            notices=await asyncio.to_thread(notices, self.exchange.root),
            corrected=corrected,
            done=done,
            confirmation=done and await asyncio.to_thread(confirmation, self.exchange, done),
            student=self.exchange.student,
            now=datetime.now(UTC).replace(tzinfo=None),
            base_url=self.base_url,
            hub=hub_address(),
            open_page=open_page,
            xsrf=self.xsrf_token.decode(),
        )


def open_page(path: str) -> str:
    """The address, below the server's, at which JupyterLab opens a file."""
    return f"lab/tree/{path}"


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": __name__}]


def _load_jupyter_server_extension(server: ServerApp) -> None:
    nbgrader = NbGrader()
    nbgrader.load_config_file()
    known = {
        "exchange": StudentExchange(nbgrader.config, Path(server.root_dir)),
        "lectures": LECTURES,
        "template": hub_pages().get_template("your_labs.html"),
    }
    server.web_app.add_handlers(".*$", [(url_path_join(server.base_url, URL), YourLabs, known)])
