"""Calls of `pipeline_schedule`: its plan as plain data, each pass as text, such as "F3"."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.evidence import Evidence

MOST = 200  # rows, and entries of a row, that are shown
OTHER = "?"


class Seen(Evidence):
    """plan: its rows, with "?" for what is neither a pass nor None; None if it is no list of lists."""

    plan: list[list[str | None]] | None


def shown_entry(entry: Any) -> str | None:
    """An entry of a row."""
    if entry is None:
        return None
    if isinstance(entry, (list, tuple)) and len(entry) == 2 and entry[0] in ("F", "B") and type(entry[1]) is int:
        return f"{entry[0]}{entry[1]}"
    return OTHER


def call(pipeline_schedule: Callable, rank: CallRank, call: dict) -> Seen:
    """One plan."""
    plan = pipeline_schedule(call["stages"], call["micro_batches"])
    if not isinstance(plan, (list, tuple)) or not all(isinstance(row, (list, tuple)) for row in plan):
        return Seen(None)
    return Seen([[*map(shown_entry, row[:MOST])] for row in plan[:MOST]])


PROBE = CallProbe(Seen, call)
