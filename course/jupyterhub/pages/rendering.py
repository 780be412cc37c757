"""Turns the templates of this folder into pages."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader

from course.exchange.due import duration

TEMPLATES = Path(__file__).with_name("templates")


def render(template: str, **values: Any) -> str:
    """A template's HTML, in which what people wrote is escaped."""
    made = Environment(loader=FileSystemLoader(TEMPLATES), autoescape=True, trim_blocks=True, lstrip_blocks=True)
    made.filters["duration"] = lambda span: duration(abs(span)) if isinstance(span, timedelta) else ""
    return made.get_template(template).render(values)
