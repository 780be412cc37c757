"""Events as `course.watch.events.read_log` gives them, made by hand."""

from __future__ import annotations

from typing import Any

from course.watch.events import Event


def event(kind: str = "allreduce", **about: Any) -> Event:
    """A call on two ranks that took from 0 to 0.1 s. It was waited for from the start if nothing else is said."""
    plain: dict[str, Any] = {"library": "mpi4py", "op": kind, "kind": kind, "line": 7, "members": [0, 1]}
    plain |= dict.fromkeys(("peer", "source", "tag", "asked_source", "asked_tag", "room", "prepared", "name"))
    plain |= dict.fromkeys(("received", "received_tag", "times", "results"))
    plain |= {"reduction": "SUM", "context": 0, "bytes": 8, "dtype": "float", "values": [1.0]}
    plain |= {"start": 0.0, "end": 0.1, "failed": False, "state": "done", **about}
    return {"waited": plain["start"], **plain}
