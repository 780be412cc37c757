"""One thing in which the ranks of a run differ, though they should not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from course.watch.events import Event

KEYS = (
    "other-order",
    "root-differs",
    "operator-differs",
    "size-differs",
    "dtype-differs",
    "communicator-differs",
    "tag-differs",
    "name-differs",
    "never-received",
    "never-sent",
    "never-waited",
    "sends-first",
    "call-missing",
)
PASSED = "MPI let it pass this time, and need not."
MOST = 4  # differences that are told of one run


class Recorded(Protocol):
    """What is known of a rank, as of a `course.world.rank_report.RankReport`.

    state: "returned" if there is nothing more to come. full, unseen: whether there is more than `events` has. cells:
    the files of the notebook cells that its calls come from.
    """

    events: Sequence[Event]
    state: str
    full: bool
    unseen: bool
    cells: Sequence[str]


@dataclass(frozen=True)
class Difference:
    """What differs, and where.

    key: one of KEYS. ranks: those concerned, in rising order; absent: those of them that did not make their call.
    lines: of the cell, those of the calls concerned that are known, and those that decide whether a rank makes one.
    text: a sentence or two, which say who has what in which line. passed: whether the calls came to their end all the
    same.
    """

    key: str
    ranks: tuple[int, ...]
    lines: tuple[int, ...]
    text: str
    passed: bool = False
    absent: tuple[int, ...] = ()

    @property
    def sentence(self) -> str:
        """The text, and whether MPI let it pass."""
        return f"{self.text} {PASSED}" if self.passed else self.text


def difference(key: str, calls: Iterable[tuple[int, Event]], text: str, absent: Iterable[int] = ()) -> Difference:
    """A difference between these calls, each with its rank. absent: ranks concerned that made none."""
    calls, absent = list(calls), tuple(sorted(absent))
    ranks = tuple(sorted({rank for rank, _ in calls} | {*absent}))
    places = {event[name] for _, event in calls for name in ("line", "prepared")}
    passed = all(event["end"] is not None and not event["failed"] for _, event in calls)
    return Difference(key, ranks, tuple(sorted(places - {None})), text, passed and key != "never-waited", absent)


def in_words(differences: Sequence[Difference]) -> str:
    """Differences as a paragraph each, the first few of them; nothing if there is none."""
    lines = [each.sentence for each in differences[:MOST]]
    more = len(differences) - MOST
    return "\n".join([*lines, *[f"There {'is' if more == 1 else 'are'} {more} more of this kind."] * (more > 0)])
