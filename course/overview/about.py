"""What a lab or a lecture says of itself at its top.

A lab's first cell has its title, and sentences of this form:

    The idea in one sentence: **...**                    **Before you start.** You need ... of lab 03.
    **Time:** about 90 minutes.                          **Lecture.** [3 A title](../../course/lectures/03_name.ipynb)

A lecture says "It takes about 25 minutes to read". What is left out is empty.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from course.overview.cells import Cell


@dataclass(frozen=True)
class About:
    """What a text says. title, idea, needs: as Markdown. minutes: as "90 to 120". lecture: title and file, or empty."""

    title: str = ""
    idea: str = ""
    needs: str = ""
    minutes: str = ""
    lecture: tuple[str, str] | tuple[()] = ()

    @property
    def sentence(self) -> str:
        """The idea as a sentence of its own, without marks; empty if there is none."""
        return as_sentence(self.idea)


def about(text: str) -> About:
    """What a notebook's text, the Markdown of one or more of its cells, says of it."""
    line = " ".join(text.split())
    lecture = re.search(r"\*\*Lecture\.\*\* \[([^\]]+)\]\([^)]*?([\w-]+\.ipynb)\)", line)
    return About(
        found(r"(?m)^# +(.+?)\s*$", text),
        found(r"The idea in one sentence: \*\*(.+?)\*\*", line),
        found(r"\*\*Before you start\.\*\* (You need .+?\.)(?= |$)", line),
        found(r"(?:\*\*Time:\*\*|It takes) (?:about )?(\d+(?: to \d+)?) minutes", line),
        lecture.groups() if lecture else (),
    )


def found(pattern: str, text: str) -> str:
    """What the pattern's group matches; empty if it is not there."""
    match = re.search(pattern, text)
    return match[1] if match else ""


def plain(markdown: str) -> str:
    """A sentence without the marks of links, code and emphasis."""
    return re.sub(r"[`*]", "", re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", markdown))


def as_sentence(markdown: str) -> str:
    """A plain sentence that begins with a capital."""
    text = plain(markdown)
    return text[:1].upper() + text[1:]


def about_cells(cells: list[Cell]) -> About:
    """What a notebook's cells say of it."""
    return about("\n\n".join(cell["source"] for cell in cells if cell.get("cell_type") == "markdown"))
