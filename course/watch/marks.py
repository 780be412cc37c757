"""Marks in the record of a rank's calls: what else happened, between which of them.

A mark is an empty message to nobody (MPI's PROC_NULL). So it has its place in the order of the calls, and its time by
their clock, and costs no time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from course.watch.events import Event


def mark(comm: Any, number: int) -> None:
    """Leave `number`, from 0, in the record, if calls are recorded. comm: a communicator of mpi4py's."""
    from mpi4py import MPI

    comm.Send(b"", dest=MPI.PROC_NULL, tag=number)


def mark_of(event: Event) -> int | None:
    """The number, if this event is a mark."""
    nobody = event["library"] == "mpi4py" and event["op"] == "Send" and event["peer"] is None and not event["bytes"]
    return event["tag"] if nobody else None


def without_marks(events: Sequence[Event]) -> list[Event]:
    """The events that are no marks."""
    return [event for event in events if mark_of(event) is None]
