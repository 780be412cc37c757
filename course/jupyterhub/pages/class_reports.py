"""The class reports of a course, made anew whenever an instructor opens them, by `./lockstep report`.

An extension of the Jupyter server of a course's formgrader.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from jinja2 import Template
from jupyter_server.auth.decorator import authorized
from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.serverapp import ServerApp
from jupyter_server.utils import url_path_join
from tornado import web
from tornado.escape import url_escape

from course.jupyterhub.pages.rendering import hub_pages
from course.lab_choice import NAME

URL = "class-report"


class ClassReports(JupyterHandler):
    """Makes the report on a lab, or on all labs, and shows it."""

    auth_resource = "contents"

    def initialize(self, no_report: Template) -> None:
        """no_report: the page that says why there is none."""
        self.no_report = no_report

    @web.authenticated
    @authorized
    async def get(self, lab: str = "") -> None:
        """Write the report and go to it; if it cannot be written, say why. lab: empty for the report on all labs."""
        root = Path(self.settings["server_root_dir"]).expanduser()
        page, why = await write_report(root, lab)
        if page:
            self.redirect(url_path_join(self.base_url, "files", *(url_escape(part, plus=False) for part in page.parts)))
        else:
            self.set_header("Content-Type", "text/html; charset=utf-8")
            self.finish(self.no_report.render(lab=lab, why=why, base_url=self.base_url))


async def write_report(root: Path, lab: str) -> tuple[Path | None, str]:
    """Write the report on a lab, or on all labs if it is empty, of the course at `root`, the working directory.

    Returns the page's path below `root`, or None and why there is none.
    """
    if lab and not NAME.fullmatch(lab):
        return None, f"{lab} can be no lab's name"
    command = [sys.executable, "-m", "autograde", "report", *([lab] if lab else [])]
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, cwd=root, stdout=pipe, stderr=pipe)
    said, complaint = await process.communicate()
    if process.returncode:
        return None, (complaint.decode(errors="replace").strip().splitlines() or ["no reason is given"])[
            -1
        ].removeprefix("Error: ")
    return Path(said.decode().strip().splitlines()[-1]).relative_to(root.resolve()), ""


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": __name__}]


def _load_jupyter_server_extension(server: ServerApp) -> None:
    address = url_path_join(server.base_url, URL)
    known = {"no_report": hub_pages().get_template("no_report.html")}
    server.web_app.add_handlers(".*$", [(rf"{address}(?:/([^/]+))?/?", ClassReports, known)])
