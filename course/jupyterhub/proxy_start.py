"""Starts JupyterHub's proxy, with a page of ours for what does not answer. Run as a program by JupyterHub.

JupyterHub tells the proxy to ask the hub for such pages (`--error-target`). While the hub starts, it either does not
answer yet, or its page lacks the styles, which come through the proxy. Ours is a file.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

PAGES = Path(__file__).with_name("proxy_pages")
INSTEAD = "--error-target"


def with_our_pages(arguments: list[str]) -> list[str]:
    """The proxy's arguments as JupyterHub gives them, with the folder of our pages in place of the hub's."""
    at = arguments.index(INSTEAD) if INSTEAD in arguments else len(arguments)
    return [*arguments[:at], "--error-path", str(PAGES), *arguments[at + 2 :]]


if __name__ == "__main__":
    # The same process becomes the proxy: JupyterHub ends the one that it started.
    os.execvp(sys.argv[1], with_our_pages(sys.argv[1:]))
