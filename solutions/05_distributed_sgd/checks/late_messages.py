"""Layers below a server's communicator: messages of other ranks in between, and arrays that change while they are sent.

Runs beside the student's code.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from course.simulated.layers import Layer
from course.watch.notes import note

CHANGED = "changed since Isend "  # how a note begins; then comes the number of the call
SOON = 0.03  # seconds to wait for a message of another rank


class Unfair(Layer):
    """Whoever has probed for any message, and then receives any, gets one of another rank, if one comes soon: MPI does
    not promise the same one."""

    def __init__(self) -> None:
        self.probed: int | None = None  # whose message was probed, if anybody's

    def methods(self, base: type) -> dict[str, Callable]:
        """See `Layer`."""
        probe, receive = base.Probe, base.Recv

        def look(own: Any, source: int = -1, tag: int = -1, status: Any = None) -> Any:
            from mpi4py import MPI

            status = MPI.Status() if status is None else status
            found = probe(own, source, tag, status)
            self.probed = status.Get_source() if source == MPI.ANY_SOURCE else None
            return found

        def take(own: Any, buf: Any, source: int = -1, tag: int = -1, status: Any = None) -> None:
            from mpi4py import MPI

            others = [rank for rank in range(1, own.size) if rank != self.probed]
            if source == MPI.ANY_SOURCE and tag == MPI.ANY_TAG and self.probed is not None:
                until = time.monotonic() + SOON
                while source < 0 and time.monotonic() < until:
                    source = next((rank for rank in others if base.Iprobe(own, rank, tag)), source)
            self.probed = None
            receive(own, buf, source, tag, status)

        return {"Probe": look, "Recv": take}


class UnderWay(Layer):
    """Notes in the record when an array has changed that an `Isend` was given, by the number of that call.

    comm: a communicator that is recorded.
    """

    def __init__(self, comm: Any) -> None:
        self.comm, self.count = comm, 0
        self.sends: list[tuple[int, np.ndarray, np.ndarray]] = []

    def look(self) -> None:
        """Look at all arrays that have not changed so far."""
        changed = [each for each in self.sends if not np.array_equal(each[1], each[2])]
        self.sends = [each for each in self.sends if not any(each is other for other in changed)]
        for number, _, _ in changed:
            note(self.comm, f"{CHANGED}{number}")

    def methods(self, base: type) -> dict[str, Callable]:
        """See `Layer`."""

        def looking(plain: Callable) -> Callable:
            def call(own: Any, *args: Any, **kwargs: Any) -> Any:
                self.look()
                return plain(own, *args, **kwargs)

            return call

        def start(own: Any, buf: Any, *args: Any, **kwargs: Any) -> Any:
            self.look()
            request = base.Isend(own, buf, *args, **kwargs)
            array = buf[0] if isinstance(buf, (list, tuple)) else buf
            if isinstance(array, np.ndarray):
                self.sends.append((self.count, array, array.copy()))
            self.count += 1
            return request

        names = ("Send", "Ssend", "Recv", "Irecv", "Probe", "Iprobe", "Mprobe", "Improbe")
        return {name: looking(getattr(base, name)) for name in names} | {"Isend": start}
