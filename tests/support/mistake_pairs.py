"""Two known mistakes in one answer: the right answer that both of them change, with both changes."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import NamedTuple

from autograde.labs.variants import Wrong, changed


class Pair(NamedTuple):
    """Two mistakes by name, and an answer that makes both."""

    one: str
    other: str
    source: str


def pairs(wrong: Mapping[str, Wrong]) -> Iterator[Pair]:
    """For each two findings the first pair of mistakes that change the same answer in different places."""
    taken = set()
    for (one, first), (other, second) in combinations(wrong.items(), 2):
        findings = frozenset((first.finding, second.finding))
        if findings not in taken and len(findings) == 2 and (source := with_both(first, second)):
            taken.add(findings)
            yield Pair(one, other, source)


def with_both(one: Wrong, other: Wrong) -> str | None:
    """The answer with both changes; None where they are not changes of one answer, or touch each other."""
    if not one.base or one.base != other.base:
        return None
    try:
        source = changed(one.source, other.edits, "both")
        ast.parse(source)
        return source if source == changed(other.source, one.edits, "both") else None
    except (ValueError, SyntaxError):
        return None
