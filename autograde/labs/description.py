"""Reads `lab.toml`: what is known of a lab beside its notebook. `lockstep build` makes all tables of labs from it.

    idea = "each rank computes its share, and one call that all of them make puts the shares together."
    minutes = 90            # for a student; [90, 120] where it depends
    seconds = 23            # for the solved notebook from top to bottom, measured
    does = "share out an integral, and make one number of it"      # the row of the clone's README.md

    [needs]                 # earlier labs; of each, what one needs of it
    02 = "the messages"

    [picture]               # the cell that picture.png shows, and what is to be seen, for those who do not see it
    cell = "partial_sum-check-2"
    alt = "The area under a curve is cut into 14 slices, which four ranks share in turn."

    [[let_pass]]            # a mistake that a usual check lets pass; todo and variant: that of variants/ which makes it
    mistake = "every rank adds up all slices"
    usual_check = "all ranks have the same number"
    todo = "partial_sum"
    variant = "everything"

Only `idea` and `minutes` must be there. A lab without the file is on the map with its title alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import msgspec

from autograde.labs.folder import LabError

FILE = "lab.toml"
# What is expected of each key.
EXPECTED = {
    "idea": "a sentence that ends with a full stop",
    "minutes": "a whole number from 1 on, or two for a range, as [90, 120]",
    "seconds": "a whole number from 1 on",
    "does": "what students do in the lab, in a few words",
    "needs": 'a table of earlier labs by two digits, as 03 = "the all-reduce"',
    "picture": "a table with `cell` and `alt`",
    "picture.cell": "the name of a cell in the notebook",
    "picture.alt": "a sentence that ends with a full stop",
    "let_pass": "a list of tables with `mistake`, `usual_check`, `todo` and `variant`",
    "let_pass.mistake": "a mistake, in a few words",
    "let_pass.usual_check": "the check that it passes, in a few words",
    "let_pass.todo": "the name of a TODO",
    "let_pass.variant": "the name of a wrong answer in variants/",
}
Text = Annotated[str, msgspec.Meta(pattern=r"^\S")]
Sentence = Annotated[str, msgspec.Meta(pattern=r"^\S.*\.$")]
Count = Annotated[int, msgspec.Meta(ge=1)]
Range = Annotated[tuple[Count, ...], msgspec.Meta(min_length=2, max_length=2)]
TwoDigits = Annotated[str, msgspec.Meta(pattern=r"^\d\d$")]


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table of lab.toml."""


class Picture(Entry, frozen=True):
    """The lab's picture. cell: the notebook's, which shows it. alt: what is to be seen."""

    cell: Text
    alt: Sentence


class LetPass(Entry, frozen=True):
    """A mistake that a usual check lets pass. variant: the wrong answer to the TODO that makes it."""

    mistake: Text
    usual_check: Text
    todo: Text
    variant: Text


class Description(Entry, frozen=True):
    """What `lab.toml` says. needs: by two digits of an earlier lab, what one needs of it; with `{lab}` where the lab
    stands in the sentence, if that is not at the end."""

    idea: Sentence
    minutes: Count | Range
    seconds: Count | None = None
    does: Text | None = None
    needs: dict[TwoDigits, Text] = {}
    picture: Picture | None = None
    let_pass: tuple[LetPass, ...] = ()

    @property
    def minutes_in_words(self) -> str:
        """As "90 to 120"."""
        return str(self.minutes) if isinstance(self.minutes, int) else "{} to {}".format(*self.minutes)

    def needs_in_words(self, links: Mapping[str, str] | None = None) -> str:
        """What it needs, as a sentence. links: where labs are, by their two digits; the others are not linked."""
        parts = []
        for number, what in self.needs.items():
            link = (links or {}).get(number)
            lab = f"lab [{number}]({link})" if link else f"lab {number}"
            parts.append((what if "{lab}" in what else f"{what} of {{lab}}").replace("{lab}", lab))
        if not parts:
            return "You need no earlier lab."
        *first, last = parts
        together = ", and " if any(" and " in part for part in parts) else " and "
        return f"You need {together.join(filter(None, (', '.join(first), last)))}."


def read_description(folder: Path) -> Description | None:
    """What the `lab.toml` of the lab in `folder` says; None if there is none.

    Raises LabError, which names the file, the key, and what is expected.
    """
    path = Path(folder) / FILE
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise LabError(f"{path} cannot be read: {error}") from error
    try:
        description = msgspec.toml.decode(text, type=Description)
    except msgspec.ValidationError as error:
        raise LabError(f"{path}: {in_words(str(error))}") from error
    except msgspec.DecodeError as error:
        raise LabError(f"{path} is not TOML: {error}") from error
    later = [number for number in description.needs if number >= Path(folder).resolve().name[:2]]
    if later:
        raise LabError(f"{path}: `needs` has {later[0]}, which is no earlier lab")
    return description


def in_words(error: str) -> str:
    """An error of msgspec's, such as "Expected `int`, got `str` - at `$.minutes`", for the author of a lab."""
    place = re.search(r"\$([^`]*)`$", error)
    table = re.sub(r"\[[^]]*\]", "", place[1]).strip(".") if place else ""
    field = re.search(r"(missing required|unknown) field `(\w+)`", error)
    key = ".".join(filter(None, (table, field and field[2])))
    if key in EXPECTED:
        return f"`{key}` {'is missing; it' if field else ''} must be {EXPECTED[key]}".replace("  ", " ")
    known = [name for name in EXPECTED if name.rpartition(".")[0] == table]
    return f"there is no key `{key}`; there are {', '.join(known)}"
