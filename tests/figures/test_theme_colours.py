"""What is shown as HTML can be read in JupyterLab's light and dark theme, and where there is no theme."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from matplotlib.colors import to_hex, to_rgb

from course.figures import theme_colours
from course.figures.contrast import TEXT, contrast

THEMES = Path(sys.prefix) / "share" / "jupyter" / "lab" / "themes" / "@jupyterlab"
TEXTS = ("INK", "FAINT", "ACCENT", "RIGHT", "WRONG")


def variables(theme: str) -> dict[str, str]:
    """The CSS variables of a theme of JupyterLab's."""
    css = (THEMES / f"theme-{theme}-extension" / "index.css").read_text()
    return dict(re.findall(r"(--[\w-]+):\s*([^;}]+)", css))


def resolved(value: str, known: dict[str, str]) -> str:
    """The colour that a CSS value stands for, with `known` variables."""
    while match := re.fullmatch(r"var\((--[\w-]+),\s*(.+)\)|var\((--[\w-]+)\)", value.strip()):
        name, default = match[1] or match[3], match[2]
        value = known.get(name, default)
    return value.strip()


def painted(value: str, ground: str) -> str:
    """A colour that may let the ground shine through, on that ground."""
    if not (match := re.fullmatch(r"rgba\((\d+),(\d+),(\d+),([\d.]+)\)", value.replace(" ", ""))):
        return to_hex(value)
    opacity = float(match[4])
    mixed = zip(map(int, match.groups()[:3]), to_rgb(ground), strict=True)
    return to_hex([opacity * own / 255 + (1 - opacity) * behind for own, behind in mixed])


@pytest.mark.parametrize("theme", ["light", "dark", "none"])
def test_text_of_tables_stands_out_on_the_ground_of_every_theme(theme: str) -> None:
    known = {} if theme == "none" else variables(theme)
    assert theme == "none" or len(known) > 100
    ground = painted(resolved(theme_colours.GROUND, known), "white")
    contrasts = {
        name: contrast(painted(resolved(getattr(theme_colours, name), known), ground), ground) for name in TEXTS
    }
    assert {name: value for name, value in contrasts.items() if value < TEXT} == {}
