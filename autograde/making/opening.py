"""What a notebook says of its lab, from `lab.toml`: at its top, and in its metadata for programs such as the map of a
student's labs.

In the first Markdown cell of `lab.py`, `{{idea}}`, `{{needs}}` and `{{minutes}}` stand for what the file says.
"""

from __future__ import annotations

import re

from autograde.labs.description import FILE, Description
from autograde.labs.folder import LabError

PLACE = re.compile(r"\{\{(\w+)\}\}")


def filled_in(text: str, description: Description | None, lab: str) -> str:
    """The text of the first cell with what `lab.toml` says. lab: its name, for messages. Raises LabError."""
    said = {} if description is None else facts(description) | {"needs": description.needs_in_words()}
    for name in PLACE.findall(text):
        if name not in said:
            known = f"there are {', '.join(said)}" if said else f"the lab has no {FILE}"
            raise LabError(f"{lab}: lab.py: `{{{{{name}}}}}` at its top stands for nothing; {known}")
    return PLACE.sub(lambda place: said[place[1]], text)


def facts(description: Description) -> dict[str, str]:
    """What a notebook's metadata have of `lab.toml`."""
    return {"idea": description.idea, "minutes": description.minutes_in_words}
