"""What the pages of this room have in common."""

from __future__ import annotations

import secrets
from functools import cached_property
from pathlib import Path

from jinja2 import Environment
from jupyter_server.base.handlers import JupyterHandler
from tornado import web

from autograde.classroom.texts.formulas import FONTS
from autograde.labs.folder import Lab, LabError, find_lab
from course.jupyterhub.pages.hub_address import hub_address
from course.jupyterhub.pages.rendering import hub_pages

TEMPLATES = Path(__file__).with_name("templates")


def class_pages() -> Environment:
    """The templates of this room, with what other pages of servers on a hub have."""
    made = hub_pages(TEMPLATES)
    made.globals["formula_fonts"] = FONTS
    return made


class LabPage(JupyterHandler):
    """A page on one lab of the course, or on all. Nothing but its own script runs in it, and it loads pictures that are
    in it."""

    auth_resource = "contents"

    def initialize(self, pages: Environment) -> None:
        """pages: the templates."""
        self.pages = pages

    @cached_property
    def nonce(self) -> str:
        """What the page's own script is known by."""
        return secrets.token_urlsafe(16)

    @property
    def root(self) -> Path:
        """The course's folder."""
        return Path(self.settings["server_root_dir"]).expanduser().resolve()

    @property
    def content_security_policy(self) -> str:
        """What the page may load and run."""
        script = f"script-src 'nonce-{self.nonce}'; connect-src 'self'"
        rest = (
            "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; form-action 'self'; base-uri 'none'"
        )
        return f"frame-ancestors 'self'; {rest}; {script}"

    def lab(self, name: str) -> Lab:
        """The lab of this name. Raises HTTPError."""
        try:
            return find_lab(self.root, name)
        except LabError as error:
            raise web.HTTPError(404, str(error)) from error

    def show(self, template: str, **known: object) -> None:
        """Answer with a page."""
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.set_header("Cache-Control", "no-store")
        common = {
            "base_url": self.base_url,
            "hub": hub_address(),
            "xsrf": self.xsrf_token.decode(),
            "nonce": self.nonce,
        }
        self.finish(self.pages.get_template(template).render(**common, **known))
