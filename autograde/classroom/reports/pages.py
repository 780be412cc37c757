"""Templates of the pages for the instructor, and how a page is written."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from autograde.classroom.errors import StepFailed
from course.files import write_whole
from course.jupyterhub.pages.hub_address import way_back

TEMPLATES = Path(__file__).parents[1] / "templates"


def write_page(path: Path, page: str) -> Path:
    """Write a page of HTML. Returns its path. Raises StepFailed if it cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, page.encode("utf-8", "replace"))  # half a surrogate pair cannot be encoded
    except OSError as error:
        raise StepFailed(f"{path} is not written: {error.strerror or error}") from error
    return path


def templates() -> Environment:
    """The pages' templates. Jinja escapes everything that is filled in."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = number
    environment.globals["courses"] = way_back()
    return environment


def number(value: float | None) -> str:
    """Points with at most two decimals; a dash for None."""
    return "–" if value is None else f"{round(value, 2):g}"
