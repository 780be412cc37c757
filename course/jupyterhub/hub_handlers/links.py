"""Corrects the formgrader's links to files, which lead to the hub's root instead of the course's pages."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from jupyterhub.handlers import BaseHandler


class FormgraderLink(BaseHandler):
    """Redirects a link on a formgrader's page to the service of its course."""

    def get(self) -> None:
        """Redirect to the course whose page has the link, or answer 404 if there is none."""
        page = urlsplit(self.request.headers.get("Referer", "")).path
        if service := re.match(r".*/services/[^/]+(?=/formgrader/)", page):
            self.redirect(service.group() + self.request.uri.removeprefix(self.hub.base_url.rstrip("/")))
        else:
            self.send_error(404)
