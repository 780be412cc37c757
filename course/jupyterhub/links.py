"""Mends the formgrader's links to files, which lead to the hub's root instead of the course's own pages."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from jupyterhub.handlers import BaseHandler


class FormgraderLink(BaseHandler):
    """Leads a link that was followed in a course's formgrader to where it was meant to lead."""

    def get(self) -> None:
        """Redirect, by the page that the link is on."""
        came = re.match(r".*/services/[^/]+(?=/formgrader/)", urlsplit(self.request.headers.get("Referer", "")).path)
        if came:
            self.redirect(came.group() + self.request.uri.removeprefix(self.hub.base_url.rstrip("/")))
        else:
            self.send_error(404)
