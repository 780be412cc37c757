"""What an attack is: a hostile submission to the small lab, and exactly what it gets.

The lab has two TODOs: `double` (2 points, one rank, a positive and a negative case) and `total` (3 points, two ranks).
A right `double` is even and a right `total` is odd, so an attack that does not compute guesses an odd number for
`double` and an even one for `total`: it cannot be right by chance.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent

from classroom import Classroom
from nbformat import NotebookNode
from small_course import ANSWERS

POINTS = {"double": 2.0, "total": 3.0}
NO_DOUBLE = (0.0, "not-double sign-lost")
NO_TOTAL = (0.0, "not-total")
UNDONE = (0.0, "not-done")
BLANK = {"double": UNDONE, "total": UNDONE}


@dataclass(frozen=True)
class Place:
    """Where the attack takes place: what the grader's machine has that a submission must not reach.

    room: the class. home: the instructor's home folder. secret: is in files of the home, and in the grader's
    environment. port: that the test listens on, on 127.0.0.1. abstract: name of the abstract Unix socket that it
    listens on, and door: path of one in the file system. mark: part of the name of all that attacks leave behind.
    """

    room: Classroom
    home: Path
    secret: str
    port: int
    abstract: str
    door: Path
    mark: str

    def fill(self, source: str) -> str:
        """`source` with this place's values for its @NAMES@, which are Python expressions."""
        values = {
            "COURSE": str(self.room.root),
            "EXCHANGE": str(self.room.exchange),
            "HOME": str(self.home),
            "SECRET": self.secret[::-1],  # so that the attack does not find itself
            "PORT": self.port,
            "ABSTRACT": self.abstract,
            "DOOR": str(self.door),
            "MARK": self.mark,
        }
        for name, value in values.items():
            source = source.replace(f"@{name}@", repr(value))
        return dedent(source).strip("\n")


@dataclass(frozen=True)
class Attack:
    """One hostile submission.

    name: also the student's id. tries: what, in one sentence. double, total: source of the TODO's cell, see
    `Place.fill`; None: the right answer, which must keep its points. scores: points and findings of each TODO that does
    not get all points; points None: it waits for a person; findings `a|b`: either. hand_in: puts something else than a
    notebook with these cells where submissions are. problem: what is said of the submission. manual: whether a person
    must look at it.
    """

    name: str
    tries: str
    double: str | None = None
    total: str | None = None
    scores: dict[str, tuple[float | None, str]] = field(default_factory=dict)
    hand_in: Callable[[Place, str], None] | None = None
    problem: str = ""
    manual: bool = False

    def put(self, place: Place) -> None:
        """Hand it in."""
        if self.hand_in is not None:
            self.hand_in(place, self.name)
            return
        given = {"double": self.double, "total": self.total}
        written = {todo: place.fill(source) for todo, source in given.items() if source is not None}
        place.room.put(self.name, place.room.answered(ANSWERS | written))

    @property
    def expected(self) -> list[dict[str, tuple[float | None, set[str]]]]:
        """Points and finding keys, by TODO. There are several where speed decides which of two limits passes first."""
        full = {todo: (points, "") for todo, points in POINTS.items()}
        marks = [
            [(todo, (points, set(keys.split()))) for keys in findings.split("|")]
            for todo, (points, findings) in (full | self.scores).items()
        ]
        return [dict(chosen) for chosen in itertools.product(*marks)]


def edited(change: Callable[[NotebookNode], None], answers: dict[str, str] = ANSWERS) -> Callable[[Place, str], None]:
    """Hands in the notebook with `answers` in it, after `change` to it."""

    def hand_in(place: Place, name: str) -> None:
        notebook = place.room.answered(answers)
        change(notebook)
        place.room.put(name, json.dumps(notebook).encode())

    return hand_in


def raw(content: Callable[[Place], bytes]) -> Callable[[Place, str], None]:
    """Hands in these bytes for a notebook."""

    def hand_in(place: Place, name: str) -> None:
        place.room.put(name, content(place))

    return hand_in
