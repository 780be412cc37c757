"""The templates of this folder, and what they use."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from jinja2 import Environment

from course.exchange.due import duration
from course.overview.pages import pages

TEMPLATES = Path(__file__).with_name("templates")


def hub_pages(*folders: Path) -> Environment:
    """The templates in `folders` and in this one, in whose pages what people wrote is escaped."""
    made = pages(*folders, TEMPLATES)
    made.filters["duration"] = lambda span: duration(abs(span)) if isinstance(span, timedelta) else ""
    return made
