"""What a lab or a lecture says of itself.

A lab's notebook has its idea and its minutes in its metadata, from `lab.toml`. Its first cell has its title, and

    **Lecture.** [3 A title](../../course/lectures/03_name.ipynb)

A lecture has its title, and says "It takes about 25 minutes to read". What is left out is empty.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from course.overview.cells import own_metadata


@dataclass(frozen=True)
class About:
    """What a notebook says. title, idea: as Markdown. minutes: as "90 to 120". lecture: title and file, or empty."""

    title: str = ""
    idea: str = ""
    minutes: str = ""
    lecture: tuple[str, str] | tuple[()] = ()

    @property
    def sentence(self) -> str:
        """The idea as a sentence of its own, without marks; empty if there is none."""
        return as_sentence(self.idea)


def about(notebook: Mapping[str, Any]) -> About:
    """What a notebook says of itself."""
    text = "\n\n".join(cell["source"] for cell in notebook["cells"] if cell.get("cell_type") == "markdown")
    line, said = " ".join(text.split()), own_metadata(notebook)
    lecture = re.search(r"\*\*Lecture\.\*\* \[([^\]]+)\]\([^)]*?([\w-]+\.ipynb)\)", line)
    return About(
        title_in(text),
        said.get("idea", ""),
        said.get("minutes") or found(r"It takes about (\d+) minutes", line),
        lecture.groups() if lecture else (),
    )


def title_in(text: str) -> str:
    """The first heading in Markdown; empty if there is none."""
    return found(r"(?m)^# +(.+?)\s*$", text)


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
