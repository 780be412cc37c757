"""The answers in words to a lab, one below the other, with score and comment: one form, kept in the gradebook."""

from __future__ import annotations

import asyncio
import hashlib

from jinja2 import Environment
from jupyter_server.auth.decorator import authorized
from jupyter_server.serverapp import ServerApp
from jupyter_server.utils import url_path_join
from tornado import web

from autograde.class_pages.handler import LabPage, class_pages
from autograde.classroom.errors import StepFailed
from autograde.classroom.gradebook.locked import Locked
from autograde.classroom.nbgrader_course import Course
from autograde.classroom.texts.scoring import Question, SaveResult, others_to_look_at, questions_of, save
from autograde.labs.folder import Lab
from autograde.term.not_counted import has_gradebook

URL = "text-answers"
UNNAMED = "unnamed"  # argument: whether names are hidden


class TextAnswers(LabPage):
    """The page, and what its form sends."""

    def initialize(self, pages: Environment, saving: asyncio.Lock) -> None:
        """saving: held while a form is saved, as two may come at once."""
        super().initialize(pages)
        self.saving = saving

    @web.authenticated
    @authorized
    async def get(self, name: str) -> None:
        """All answers."""
        await self.answers(self.lab(name))

    @web.authenticated
    @authorized
    async def post(self, name: str) -> None:
        """Save what was changed, and show all as it is now: what was refused, as it was typed, with the reason."""
        lab = self.lab(name)
        form = {key: self.get_body_argument(key, strip=False) for key in self.request.body_arguments}
        async with self.saving:
            try:
                saved = await asyncio.to_thread(lambda: save(Course(self.root), lab, form))
            except (Locked, StepFailed) as error:
                typed = {key: value for key, value in form.items() if key.startswith(("score-", "comment-"))}
                await self.answers(
                    lab, SaveResult(refused={key: ("", value) for key, value in typed.items()}), str(error)
                )
            else:
                await self.answers(lab, saved)

    async def answers(self, lab: Lab, saved: SaveResult | None = None, failed: str = "") -> None:
        """The page. saved: what became of the form. failed: why nothing was saved."""
        unnamed = bool(self.get_argument(UNNAMED, ""))
        try:
            questions, others = await asyncio.to_thread(read, Course(self.root), lab)
        except (Locked, StepFailed) as error:
            questions, others, failed = [], 0, failed or str(error)
        if unnamed:
            for question in questions:
                question.answers.sort(key=lambda each: hashlib.sha256(each.key.encode()).digest())
        waiting = [each.key for question in questions for each in question.answers if each.waits]
        known = {"lab": lab.name, "questions": questions, "others": others, "waiting": waiting}
        self.show("text_answers.html", unnamed=unnamed, saved=saved, failed=failed, **known)


def read(course: Course, lab: Lab) -> tuple[list[Question], int]:
    """The lab's questions with all answers, and how many submissions have something else to look at."""
    if not has_gradebook(course):
        return [], 0
    return questions_of(course, lab), others_to_look_at(course, lab)


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": __name__}]


def _load_jupyter_server_extension(server: ServerApp) -> None:
    address = url_path_join(server.base_url, URL)
    known = {"pages": class_pages(), "saving": asyncio.Lock()}
    server.web_app.add_handlers(".*$", [(rf"{address}/([^/]+)/?", TextAnswers, known)])
