"""A layer below a server's communicator, by which messages of other ranks come in between.

Runs beside the student's code.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from course.simulated.layers import Layer

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
