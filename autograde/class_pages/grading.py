"""How far the grading of a lab is, whoever started it, and what it said in the end; *Stop* ends it as Ctrl-C does."""

from __future__ import annotations

from datetime import UTC, datetime

from jupyter_server.auth.decorator import authorized
from jupyter_server.serverapp import ServerApp
from jupyter_server.utils import url_path_join
from tornado import web

from autograde.class_pages.handler import LabPage, class_pages
from autograde.classroom.runs.background import stop
from autograde.classroom.runs.progress import log_path, read

URL = "class-grading"
STATE, STOPPING = "state", "stopping"  # arguments: the page asks for what has changed, as JSON; it was told to stop
MOST = 200_000  # bytes of a log that are shown


class GradingPage(LabPage):
    """The page on the last grading of a lab. Without JavaScript it shows what is new when it is loaded again."""

    @web.authenticated
    @authorized
    def get(self, name: str) -> None:
        """How far it is."""
        lab = self.lab(name).name
        run = read(self.root, lab)
        if self.get_argument(STATE, ""):
            self.set_header("Cache-Control", "no-store")
            running = bool(run and run.running)
            self.finish({"running": running, "said": str(run), "done": run.done, "total": run.total} if running else {})
            return
        since = datetime.fromtimestamp(run.since, UTC) if run else None
        stopping = bool(self.get_argument(STOPPING, ""))
        self.show("grading.html", lab=lab, run=run, since=since, said=self.said(lab) if run else [], stopping=stopping)

    @web.authenticated
    @authorized
    def post(self, name: str) -> None:
        """Stop it."""
        lab = self.lab(name).name
        stop(self.root, lab)
        self.redirect(f"{url_path_join(self.base_url, URL, lab)}?{STOPPING}=1", status=303)

    def said(self, lab: str) -> list[str]:
        """The lines that a run in the background has said."""
        try:
            with open(log_path(self.root, lab), "rb") as file:
                return file.read(MOST).decode(errors="replace").splitlines()
        except OSError:
            return []


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": __name__}]


def _load_jupyter_server_extension(server: ServerApp) -> None:
    address = url_path_join(server.base_url, URL)
    server.web_app.add_handlers(".*$", [(rf"{address}/([^/]+)/?", GradingPage, {"pages": class_pages()})])
