"""Makes pages of templates: those of this room, and a caller's."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, FileSystemLoader

TEMPLATES = Path(__file__).with_name("templates")


def pages(*folders: Path) -> Environment:
    """The templates in `folders` and in this room's, in whose pages what people wrote is escaped."""
    return Environment(
        loader=FileSystemLoader([*folders, TEMPLATES]), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
