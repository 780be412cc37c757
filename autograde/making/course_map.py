"""The map of the course, `labs/README.md`: of each lab a picture, its idea, what it needs, and how long it takes.

All of it stands in the labs' folders already, and only there. The notebook says at its top:

    The idea in one sentence: **...**                    **Before you start.** You need ... of lab 03.
    **Time:** about 90 minutes.

and the instructor's README.md has two rows. `bench/solved_labs.py` measures the one, and makes picture.png of the cell
that the other names:

    | From top to bottom | 32 s, solved ... |
    | Picture | `partial_sum-check-2`: What is to be seen, in a sentence. |

A lab that leaves something out has nothing there.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass

from autograde.labs.folder import Lab
from autograde.labs.source import read_cells
from course.overview.about import about, found

PICTURE = "picture.png"
WIDTH = 600  # of a picture, in CSS pixels
INTRODUCTION = """# The labs

Each lab is a notebook: open it and run its cells from top to bottom. Where it says `# YOUR CODE HERE`, it is your turn,
and the cell below checks what you wrote. Work through the labs in this order, or take those that the one you want
builds on. [GLOSSARY.md](GLOSSARY.md) explains the terms. The last column of the table is the time that the solved
notebook takes from top to bottom on four cores.
"""
HEAD = "| lab | builds on | minutes for you | seconds for the computer |\n|---|---|---:|---:|\n"


@dataclass(frozen=True)
class Place:
    """A lab's place on the map. needs: the sentence. minutes: as "90 to 120". seconds: from top to bottom, measured.

    shown: the cell whose picture it is. alt: what the picture shows. Empty: the lab does not say it.
    """

    title: str
    idea: str = ""
    needs: str = ""
    minutes: str = ""
    seconds: str = ""
    shown: str = ""
    alt: str = ""

    @property
    def builds_on(self) -> list[str]:
        """Two digits of each lab that it needs."""
        return list(dict.fromkeys(re.findall(r"\b\d\d\b", " ".join(re.findall(r"\blabs? [\d, and]+", self.needs)))))


def place(lab: Lab) -> Place:
    """What `lab` says of itself."""
    said = about(next((cell.source for cell in read_cells(lab.source) if cell.kind == "markdown"), ""))
    readme = lab.folder / "README.md"
    table = readme.read_text("utf-8") if readme.exists() else ""
    rows = dict(re.findall(r"^\| ([^|]+?) \| (.+) \|$", table, re.MULTILINE))
    shown, alt = re.fullmatch(r"(?:`([\w-]+)`: )?(.*)", rows.get("Picture", "")).groups()
    return Place(
        said.title or lab.name,
        said.idea,
        said.needs,
        said.minutes,
        found(r"^(\d+) s\b", rows.get("From top to bottom", "")),
        shown or "",
        alt,
    )


def course_map(labs: list[Lab]) -> str:
    """The map of these labs, in this order, as Markdown for the folder that has theirs in it."""
    places = {lab: place(lab) for lab in labs}
    names = {lab.name[:2]: lab.name for lab in labs}
    lines = [
        f"| [{here.title}]({lab.name}/{lab.notebook}) | {', '.join(here.builds_on) or 'none'} "
        f"| {here.minutes} | {here.seconds} |\n"
        for lab, here in places.items()
    ]
    return "\n".join(
        [INTRODUCTION, HEAD + "".join(lines), *(section(lab, here, names) for lab, here in places.items())]
    )


def section(lab: Lab, here: Place, names: dict[str, str]) -> str:
    """The part of the map on one lab. names: of the labs on the map, by their two digits."""

    def link(match: re.Match) -> str:
        lab = names.get(match[0])
        return f"[{match[0]}]({lab}/{lab}.ipynb)" if lab else match[0]

    needs = re.sub(r"\b\d\d\b", link, here.needs)
    image = f'<img src="{lab.name}/{PICTURE}" width="{WIDTH}" alt="{html.escape(here.alt)}">'
    picture = image if (lab.folder / PICTURE).exists() else ""
    idea = here.idea[:1].upper() + here.idea[1:]
    paragraphs = [f"## {here.title}", idea and f"**{idea}**", picture, needs]
    return "".join(f"{each}\n\n" for each in paragraphs if each).rstrip("\n") + "\n"
