"""What a lab's `tests/known.toml` says to tests that go through all labs. All of it may be missing.

mutants_of = "solution"                            # those of the other right answers are not settled yet

[each_time]                                        # pairs of mistakes that `./lockstep test` runs each time, by
mean = [["no_division", "first_left_out"]]         # TODO: the first one's finding once hid the second

[moot.mean]                                        # pairs that may cost less than the dearer one alone, since one
"no_division in_place" = "Nothing is divided."     # undoes the other, or keeps it from being made: why
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field

from lab_tests import FOLDER

from autograde.labs.folder import Lab


@dataclass(frozen=True)
class Known:
    """The content of the file. mutants_of: the one answer whose mutants are settled; None for all answers."""

    mutants_of: str | None = None
    each_time: Mapping[str, list[list[str]]] = field(default_factory=dict)
    moot: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def read_known(lab: Lab) -> Known:
    """What is known of a lab. Raises TypeError for a key that there is not."""
    path = lab.folder / FOLDER / "known.toml"
    return Known(**tomllib.loads(path.read_text(encoding="utf-8"))) if path.exists() else Known()
