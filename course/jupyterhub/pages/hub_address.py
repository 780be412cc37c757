"""Where the hub's own pages are, to which the pages of servers and reports lead back."""

from __future__ import annotations

import os


def hub_address() -> str:
    """The address of the hub's pages: below its path, and with its host where each server has one of its own."""
    return f"{os.environ.get('JUPYTERHUB_HOST', '')}{os.environ.get('JUPYTERHUB_BASE_URL', '/').rstrip('/')}/hub"


def way_back() -> str:
    """The hub's first page for instructors; empty where this is not a course's server."""
    return f"{hub_address()}/home" if "JUPYTERHUB_SERVICE_NAME" in os.environ else ""
