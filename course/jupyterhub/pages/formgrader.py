"""nbgrader's formgrader, with a way back to the hub's first page, names as people have them, labs' sources, and
warnings in sight.

An extension of the Jupyter server of a course's formgrader, which loads nbgrader's own. Its templates are extended by
those in templates/formgrader.
"""

from __future__ import annotations

import html
from typing import Any

from jinja2 import ChoiceLoader, Environment, FileSystemLoader, PrefixLoader
from jupyter_server.serverapp import ServerApp
from nbconvert.exporters import HTMLExporter
from nbgrader.server_extensions.formgrader import handlers, load_jupyter_server_extension

from course.jupyterhub.pages.hub_address import hub_address
from course.jupyterhub.pages.rendering import TEMPLATES


class SubmissionPage(HTMLExporter):
    """Makes the page of one submission: nbgrader puts names into it as they are, which people choose themselves."""

    def from_filename(self, filename: str, resources: dict | None = None, **kw: Any) -> tuple[str, dict]:
        """The page of a graded notebook. resources: nbgrader's."""
        safe = {name: html.escape(text) if isinstance(text, str) else text for name, text in (resources or {}).items()}
        return super().from_filename(filename, resources=safe | {"way_back": way_back()}, **kw)


def way_back() -> str:
    """The hub's first page."""
    return f"{hub_address()}/home"


def templates() -> Environment:
    """nbgrader's templates, and ours that extend them. What people wrote is escaped."""
    nbgraders = FileSystemLoader(handlers.template_path)
    loader = ChoiceLoader(
        [FileSystemLoader(TEMPLATES / "formgrader"), nbgraders, PrefixLoader({"nbgrader": nbgraders})]
    )
    made = Environment(loader=loader, autoescape=True)
    made.globals["way_back"] = way_back()
    return made


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": __name__}]


def _load_jupyter_server_extension(server: ServerApp) -> None:
    load_jupyter_server_extension(server)
    settings = server.web_app.settings
    settings["nbgrader_jinja2_env"] = templates()
    settings["nbgrader_exporter"] = SubmissionPage(config=settings["nbgrader_formgrader"].config)
