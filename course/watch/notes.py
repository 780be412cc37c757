"""Notes in the record of a rank's calls: what else happened, between which of them, on the same clock.

A check notes its own moments, such as "the backward pass begins"; so may a notebook, for its timeline. A note is an
`Event` of the kind "note", whose `op` is its name. It is no call of anybody's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from course.watch.events import NOTE, Event


def note(comm: Any, name: str) -> None:
    """Note this moment by its name, if calls are recorded. comm: any communicator of mpi4py's that the run has."""
    noting = getattr(comm, "lockstep_note", None)
    if noting is not None:
        noting(name)


def before_completion(comm: Any, look: Callable[[], None]) -> None:
    """Call `look` each time an operation of mpi4py's that goes on after its call is complete, before this is recorded,
    until the run is over. comm: any communicator of mpi4py's that the run has."""
    looking = getattr(comm, "lockstep_before_completion", None)
    if looking is not None:
        looking(look)


def note_of(event: Event) -> str | None:
    """The name, if this event is a note."""
    return event["op"] if event["kind"] == NOTE else None


def without_notes(events: Sequence[Event]) -> list[Event]:
    """The events that are calls."""
    return [event for event in events if event["kind"] != NOTE]
