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
    "never-received",
    "never-sent",
    "never-waited",
    "sends-first",
    "call-missing",
)
PASSED = "MPI let it pass this time, and need not."
MOST = 4  # differences that are told of one run


class Recorded(Protocol):
    """What is known of a rank, as of a `course.world.report.RankReport`.

    state: "returned" if there is nothing more to come. full, unseen: whether there is more than `events` has.
    """

    events: Sequence[Event]
    state: str
    full: bool
    unseen: bool


@dataclass(frozen=True)
class Difference:
    """What differs, and where.

    key: one of KEYS. ranks: those concerned, in rising order. lines: of the cell, those of the calls concerned that are
    known. text: a sentence or two, which say who has what in which line. passed: whether the calls came to their end
    all the same.
    """

    key: str
    ranks: tuple[int, ...]
    lines: tuple[int, ...]
    text: str
    passed: bool = False

    @property
    def sentence(self) -> str:
        """The text, and whether MPI let it pass."""
        return f"{self.text} {PASSED}" if self.passed else self.text


def difference(key: str, calls: Iterable[tuple[int, Event]], text: str, others: Iterable[int] = ()) -> Difference:
    """A difference between these calls, each with its rank. others: ranks concerned that made none."""
    calls = list(calls)
    ranks = tuple(sorted({rank for rank, _ in calls} | {*others}))
    lines = tuple(sorted({event["line"] for _, event in calls if event["line"] is not None}))
    passed = all(event["end"] is not None and not event["failed"] for _, event in calls)
    return Difference(key, ranks, lines, text, passed and key != "never-waited")


def told(found: Sequence[Difference]) -> str:
    """Differences as a paragraph each, the first few of them; nothing if there is none."""
    lines = [each.sentence for each in found[:MOST]]
    more = len(found) - MOST
    return "\n".join([*lines, *[f"There {'is' if more == 1 else 'are'} {more} more of this kind."] * (more > 0)])
