"""The site of the lectures, and a page in a browser that is offline."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Page

from autograde.labs.places import REPOSITORY
from autograde.lectures.notebooks import FOLDER, find_lectures

CHOSEN = "03_talking_to_everybody"  # what `./lockstep test` runs each time; `--all` runs every lecture
LECTURES = sorted((lecture.name for lecture in find_lectures(REPOSITORY)), key=lambda name: (name != CHOSEN, name))


@dataclass(frozen=True)
class Site:
    """A built site. output: what the command said."""

    html: Path
    output: str

    def page(self, name: str) -> str:
        """The address of a lecture's page in the folder."""
        return (self.html / FOLDER / f"{name}.html").as_uri()


@dataclass(frozen=True)
class Offline:
    """A page that reaches no other host. asked: addresses of other hosts; failed: requests that came to nothing."""

    page: Page
    asked: list[str]
    failed: list[str]
