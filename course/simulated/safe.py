"""A communicator on which a program that relies on buffers hangs.

MPI may keep a message until it is received, and does so with small ones: two ranks that both send first work then, and
hang with larger messages, or elsewhere. A safe program also works where each send waits for its receive (MPI 4.1,
section 3.5).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from course.simulated.layers import Layer, layered

SYNCHRONOUS = {"Send": "Ssend", "Isend": "Issend", "Send_init": "Ssend_init", "send": "ssend", "isend": "issend"}


@dataclass(frozen=True)
class WaitingSends(Layer):
    """Each send is a synchronous one."""

    def methods(self, base: type) -> dict[str, Callable]:
        """See `Layer`."""
        return {operation: getattr(base, synchronous) for operation, synchronous in SYNCHRONOUS.items()}


def safe(comm: Any) -> Any:
    """The same mpi4py communicator, where each send waits for its receive, in both cases of letters.

    `Sendrecv`, collectives, and sends that say what they rely on (`Bsend`, `Rsend`) stay as they are.
    """
    return layered(comm, WaitingSends())
