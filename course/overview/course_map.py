"""The course map in JupyterLab: the first screen. An extension of Jupyter Server, which answers with a part of a page.

JupyterLab's side is `course/jupyterlab/students/labextensions/lockstep-map`, which shows it in a tab.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Template
from jupyter_server.auth.decorator import authorized
from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.serverapp import ServerApp
from jupyter_server.utils import url_path_join
from tornado import web

from course.homes.look import notices
from course.overview.entries import Entry, lab_entries, lecture_entries
from course.overview.pages import pages

URL, PAGE = "lockstep/map", "course_map.html"
LABS, LECTURES = "labs", "course/lectures"  # below the server's root, in `./lockstep lab`


@dataclass(frozen=True)
class Overview:
    """What the map shows. trouble: why there is less, in a sentence. glossary: the path of the list of terms; empty if
    there is none. notices: what is wrong with the folder that work is saved in, in sentences."""

    labs: list[Entry]
    lectures: list[Entry]
    trouble: str = ""
    glossary: str = ""
    notices: Sequence[str] = ()


class CourseMap(JupyterHandler):
    """The map as HTML without head and body."""

    auth_resource = "contents"

    def initialize(self, overview: Callable[[], Overview], page: Template) -> None:
        """overview: reads what is shown, anew for each request."""
        self.overview, self.page = overview, page

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """The map as it is now."""
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.set_header("Cache-Control", "no-store")
        self.finish(self.page.render(overview=await asyncio.to_thread(self.overview), base_url=self.base_url))


def local_overview(root: Path) -> Overview:
    """The map of the labs and lectures below the server's root."""
    lectures = lecture_entries(root / LECTURES, root, LECTURES)
    labs = lab_entries(root, LABS, lectures)
    saved = (root / LABS).resolve()  # by a link, in `./lockstep lab`
    told = notices(root if saved.is_relative_to(root.resolve()) else saved)
    trouble = f"There is no lab in the folder {root / LABS}. Instructors make them: ./lockstep build"
    glossary = f"{LABS}/GLOSSARY.md"
    return Overview(
        labs, lectures, "" if labs or told else trouble, glossary if (root / glossary).is_file() else "", told
    )


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": __name__}]


def _load_jupyter_server_extension(server: ServerApp) -> None:
    known = {"overview": lambda: local_overview(Path(server.root_dir)), "page": pages().get_template(PAGE)}
    server.web_app.add_handlers(".*$", [(url_path_join(server.base_url, URL), CourseMap, known)])
