"""How long spans of time go on, alone and together: as `exposed` should count it, and as people count it wrongly."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

Rows = Sequence[tuple[float, float]]  # when each of some spans begins and ends


def together(*rows: Rows) -> float:
    """Seconds in which spans of all of these rows go on, each moment once."""
    moments = sorted({moment for row in rows for span in row for moment in span})
    pieces = [(a, b) for a, b in pairwise(moments) if all(any(s <= a and b <= e for s, e in row) for row in rows)]
    return float(sum(end - start for start, end in pieces))


def added(row: Rows) -> float:
    """Their durations, as they are."""
    return float(sum(end - start for start, end in row))


def of_pairs(one: Rows, other: Rows) -> float:
    """For each two spans, one of each row, how long both go on; all added."""
    return float(sum(max(0, min(b, d) - max(a, c)) for a, b in one for c, d in other))


def joined_by_last(row: Rows) -> Rows:
    """Spans that overlap joined, where the end is that of the one that began last."""
    joined: list[tuple[float, float]] = []
    for start, end in sorted(row):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined


def joined_as_listed(row: Rows) -> Rows:
    """Spans joined with the one before them in the list if they begin before that one's end."""
    joined: list[tuple[float, float]] = []
    for start, end in row:
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((start, end))
    return joined


def longest(row: Rows) -> tuple[float, float]:
    """The first start and the last end; zeros of an empty row."""
    return min((start for start, _ in row), default=0), max((end for _, end in row), default=0)
