"""The templates of this folder, and what they use."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

from jinja2 import Environment
from markupsafe import Markup, escape

from course.exchange.due import duration
from course.overview.pages import pages

TEMPLATES = Path(__file__).with_name("templates")


def hub_pages(*folders: Path) -> Environment:
    """The templates in `folders` and in this one, in whose pages what people wrote is escaped."""
    made = pages(*folders, TEMPLATES)
    made.filters["duration"] = lambda span: duration(abs(span)) if isinstance(span, timedelta) else ""
    made.filters["as_html"] = as_html
    return made


def as_html(sentences: str) -> Markup:
    """What is told in plain words, with names as code, and times as pages show them: in their reader's own zone."""
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(sentences)))
    text = re.sub(r"(\d{4}-\d\d-\d\d) (\d\d:\d\d) UTC", r'<time datetime="\1T\2Z">\g<0></time>', text)
    return Markup(re.sub(r"\*([^*<>]+)\*", r"<em>\1</em>", text))
