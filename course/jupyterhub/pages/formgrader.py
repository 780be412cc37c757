"""nbgrader's formgrader, with a way back to the hub's first page, names as people have them, and labs' sources.

An extension of the Jupyter server of a course's formgrader, which loads nbgrader's own.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from jinja2 import Environment, FileSystemLoader
from jupyter_server.serverapp import ServerApp
from jupyter_server.utils import url_path_join
from nbgrader.server_extensions.formgrader import handlers, load_jupyter_server_extension
from tornado import web

from course.jupyterhub.pages.your_labs import hub_address

MENU = '<ul class="nav nav-pills nav-stacked">'  # of all pages but that of one submission
WAY_BACK = '<li role="presentation"><a href="{}/home">Your courses</a></li>'
# A student whose account has no full name has a last name only, which would be shown with a comma behind it.
NAME, BETTER_NAME = b'last_name + ", " + first_name', b'[last_name, first_name].filter(Boolean).join(", ")'
# An assignment's name leads to what is made anew from the lab's source, where an edit would be lost.
MADE = b"""$("<a/>")
            .text(name)
            .map(linkTo("directory", url_prefix + "/" + this.model.get("source_path")))"""
SOURCE = b"""$("<a/>")
            .text(name)
            .attr("title", "The lab's source: edit lab.py here; what is released is built from it")
            .map(linkTo("directory", url_prefix + "/" + this.model.get("source_path").replace(/^build[/]/, "")))"""
PREVIEW = b'this.$preview.append($("<a/>")'
WARNED = (
    PREVIEW
    + b"""
                .attr("title", "What students get, to look at: a cell that you run here runs as the course's grader")"""
)
LOG, WRAPPED = b'$("<pre/>").text(log)', b'$("<pre/>").css("white-space", "pre-wrap").text(log)'  # else it is cut off
SCRIPT = {NAME: BETTER_NAME, MADE: SOURCE, PREVIEW: WARNED, LOG: WRAPPED}


class Pages(FileSystemLoader):
    """nbgrader's templates, with a link to the hub's first page as the last of each menu."""

    def get_source(self, environment: Environment, template: str) -> tuple[str, str, Callable[[], bool]]:
        """One template."""
        source, path, fresh = super().get_source(environment, template)
        return source.replace(MENU, MENU + WAY_BACK.format(hub_address())), path, fresh


class Scripts(web.StaticFileHandler):
    """nbgrader's scripts, which put names together and link to folders."""

    @classmethod
    def get_content(cls, abspath: str, start: int | None = None, end: int | None = None) -> bytes:
        """A script, or a part of it."""
        script = Path(abspath).read_bytes()
        for theirs, better in SCRIPT.items():
            script = script.replace(theirs, better)
        return script[start:end]

    def get_content_size(self) -> int:
        """Bytes of the whole script."""
        return len(self.get_content(self.absolute_path))


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": __name__}]


def _load_jupyter_server_extension(server: ServerApp) -> None:
    scripts = url_path_join(server.base_url, r"/formgrader/static/js/(.*)")
    server.web_app.add_handlers(".*$", [(scripts, Scripts, {"path": str(Path(handlers.static_path, "js"))})])
    load_jupyter_server_extension(server)
    server.web_app.settings["nbgrader_jinja2_env"].loader = Pages([handlers.template_path])
