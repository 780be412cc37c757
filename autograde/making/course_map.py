"""The map of the course, `labs/README.md`: of each lab a picture, its idea, what it needs, and how long it takes.

All of it stands in the labs' `lab.toml`, see autograde/labs/description.py; what is left out there is not on the map.
"""

from __future__ import annotations

import html

from autograde.labs.description import Description, read_description
from autograde.labs.folder import Lab
from autograde.labs.source import first_text
from course.overview.about import title_in

PICTURE = "picture.png"
WIDTH = 600  # of a picture, in CSS pixels
INTRODUCTION = """# The labs

Each lab is a notebook: open it and run its cells from top to bottom. Where it says `# YOUR CODE HERE`, it is your turn,
and the cell below checks what you wrote. Work through the labs in this order, or take those that the one you want
builds on. [GLOSSARY.md](GLOSSARY.md) explains the terms. The last column of the table is the time that the solved
notebook takes from top to bottom on four cores.
"""
HEAD = "| lab | builds on | minutes for you | seconds for the computer |\n|---|---|---:|---:|\n"


def title_of(lab: Lab) -> str:
    """The heading at the top of the lab's notebook; the lab's name if it has none."""
    return title_in(first_text(lab.source)) or lab.name


def course_map(labs: list[Lab]) -> str:
    """The map of these labs, in this order, as Markdown for the folder that has theirs in it. Raises LabError."""
    described = {lab: read_description(lab.folder) for lab in labs}
    links = {lab.name[:2]: f"{lab.name}/{lab.notebook}" for lab in labs}
    rows = "".join(row(lab, description) for lab, description in described.items())
    sections = [section(lab, description, links) for lab, description in described.items()]
    return "\n".join([INTRODUCTION, HEAD + rows, *sections])


def row(lab: Lab, description: Description | None) -> str:
    """The row of the table on one lab."""
    cells = [f"[{title_of(lab)}]({lab.name}/{lab.notebook})", "", "", ""]
    if description is not None:
        cells[1:] = ", ".join(description.needs) or "none", description.minutes_in_words, str(description.seconds or "")
    return f"| {' | '.join(cells)} |\n"


def section(lab: Lab, description: Description | None, links: dict[str, str]) -> str:
    """The part of the map on one lab. links: to the notebooks of the labs on the map, by their two digits."""
    paragraphs = [f"## {title_of(lab)}"]
    if description is not None:
        paragraphs.append(f"**{description.idea[:1].upper()}{description.idea[1:]}**")
        if description.picture and (lab.folder / PICTURE).exists():
            alt = html.escape(description.picture.alt)
            paragraphs.append(f'<img src="{lab.name}/{PICTURE}" width="{WIDTH}" alt="{alt}">')
        paragraphs.append(description.needs_in_words(links))
    return "\n\n".join(paragraphs) + "\n"
