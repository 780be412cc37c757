"""In which call a rank waits."""

from __future__ import annotations

from collections.abc import Sequence


def open_call(log: Sequence[dict]) -> dict | None:
    """The last call of a rank that has not ended; None if there is none. log: its events."""
    return next((event for event in reversed(log) if event["end"] is None), None)
