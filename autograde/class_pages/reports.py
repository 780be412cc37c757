"""The class reports of a course, made anew whenever an instructor opens them, by `./lockstep report`."""

from __future__ import annotations

import asyncio
from pathlib import Path

from jinja2 import Environment
from jupyter_server.auth.decorator import authorized
from jupyter_server.serverapp import ServerApp
from jupyter_server.utils import url_path_join
from tornado import web
from tornado.escape import url_escape

from autograde.class_pages.handler import LabPage, class_pages
from course.jupyterhub.pages.command import lockstep
from course.lab_choice import NAME

URL = "class-report"
READY = "ready"  # argument of the second request, which waits until the report is written


class ReportPage(LabPage):
    """Makes the report on a lab, or on all labs, and shows it.

    That takes seconds. So the first request gets a page that says so, which asks for the report at once, and is shown
    until that second request is answered.
    """

    def initialize(self, pages: Environment, running: dict[str, asyncio.Task]) -> None:
        """running: the last report on each lab, made or being made, for all who ask for it."""
        super().initialize(pages)
        self.running = running

    @web.authenticated
    @authorized
    async def get(self, lab: str | None = None) -> None:
        """Begin the report; once it is written, go to it; if it cannot be, say why. lab: None for that on all labs."""
        lab = lab or ""
        ready = self.get_argument(READY, "")
        if lab not in self.running or (not ready and self.running[lab].done()):
            self.running[lab] = asyncio.create_task(write_report(self.root, lab))
        if not ready:
            address = url_path_join(self.base_url, URL, url_escape(lab, plus=False))
            self.show("being_made.html", lab=lab, address=f"{address}?{READY}=1")
            return
        page, why = await asyncio.shield(self.running[lab])  # others wait for it, too
        if page:
            self.redirect(url_path_join(self.base_url, "files", *(url_escape(part, plus=False) for part in page.parts)))
        else:
            self.show("no_report.html", lab=lab, why=why)


async def write_report(root: Path, lab: str) -> tuple[Path | None, str]:
    """Write the report on a lab, or on all labs if it is empty, of the course at `root`, the working directory.

    Returns the page's path below `root`, or None and why there is none.
    """
    if lab and not NAME.fullmatch(lab):
        return None, f"{lab} can be no lab's name"
    said = await lockstep("report", *([lab] if lab else []), cwd=root)
    return (None, said.why) if said.why else (Path(said.lines[-1]).relative_to(root), "")


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": __name__}]


def _load_jupyter_server_extension(server: ServerApp) -> None:
    address = url_path_join(server.base_url, URL)
    known = {"pages": class_pages(), "running": {}}
    server.web_app.add_handlers(".*$", [(rf"{address}(?:/([^/]+))?/?", ReportPage, known)])
