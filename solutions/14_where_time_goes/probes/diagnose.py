"""Calls of `diagnose` with the spans of a step."""

from collections.abc import Callable

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.calls import type_in_words
from autograde.contract.evidence import Evidence, unjudged
from course.profiles.spans import Span


@unjudged(kind="it chooses words where there is no text")
class Seen(Evidence):
    """cause: what is returned, None if it is no text. kind: its type, in words."""

    cause: str | None
    kind: str


def call(diagnose: Callable, rank: CallRank, case: dict) -> Seen:
    """One call, with a trace of its own."""
    cause = diagnose([[Span(*row) for row in rows] for rows in case["trace"]])
    return Seen(str(cause)[:80] if isinstance(cause, str) else None, type_in_words(cause))


PROBE = CallProbe(Seen, call)
