"""Where all ranks meet between two calls of a function, which a report does not take for one of these calls."""

from __future__ import annotations

from typing import Any

MEETING = "the meeting"  # as a report's `call`


def meet(comm: Any) -> None:
    """Wait for all ranks of `comm`, a communicator that the person's function never gets."""
    comm.Barrier()


def is_meeting(event: dict) -> bool:
    """Whether an event, see `course.watch.events`, is that of a meeting: a barrier that no cell calls."""
    return event["kind"] == "barrier" and event["line"] is None


def in_meeting(file: str, name: str) -> bool:
    """Whether a frame of a stack, by its file and function, is that of `meet`."""
    return file == __file__ and name == "meet"
