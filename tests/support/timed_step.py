"""A step whose all-reduces two ranks call at certain times, for pictures."""

from __future__ import annotations

LATENCY, BANDWIDTH, BYTES = 0.001, 1e6, 4000  # on two ranks, an all-reduce takes 2 (1 + 2) = 6 ms


def event(kind: str, start: float, end: float, library: str = "torch") -> dict:
    """A call, as far as the figures look at it."""
    return {"library": library, "kind": kind, "start": start, "end": end, "bytes": BYTES}


def run(calls: list[float], total: float, late: float = 0.0) -> dict:
    """A step of four layers on two ranks, of which one calls its all-reduces `late` seconds later."""
    layers = [(layer, 0.01 + 0.01 * number, 0.02 + 0.01 * number) for number, layer in enumerate((3, 2, 1, 0))]
    own = {"last": total, "backward": (0.01, 0.05), "layers": layers}
    events = [
        [event("barrier", 1.0, 2.0, "mpi4py"), *(event("allreduce", 2 + call + shift, 3.0) for call in calls)]
        for shift in (0.0, late)
    ]
    return {"ranks": [own, own], "events": events}
