"""The site of the lectures at /hub/lectures/, for all who are logged in, as `./lockstep book` built it."""

from __future__ import annotations

from jupyterhub.handlers import BaseHandler
from tornado import web

from course.jupyterhub.place import REPOSITORY

SITE = REPOSITORY / "build" / "book" / "html"


def is_built(*_: object) -> bool:
    """Whether there is a site to show now."""
    return (SITE / "index.html").is_file()


class LecturesSite(BaseHandler, web.StaticFileHandler):
    """Serves the site's files. Who is not logged in is led to the login page; what is built anew shows at once."""

    @web.authenticated
    async def get(self, path: str, include_body: bool = True) -> None:
        """One file of the site, or its first page."""
        if not is_built():
            raise web.HTTPError(
                404, reason="The lectures are not built on this hub yet: its admin runs ./lockstep book"
            )
        await web.StaticFileHandler.get(self, path, include_body)

    @web.authenticated
    async def head(self, path: str) -> None:
        """As `get`, without the file."""
        await self.get(path, include_body=False)

    def set_extra_headers(self, path: str) -> None:
        """Browsers ask each time whether a file is a new one."""
        self.set_header("Cache-Control", "no-cache")


HANDLER = (r"/lectures/(.*)", LecturesSite, {"path": str(SITE), "default_filename": "index.html"})
