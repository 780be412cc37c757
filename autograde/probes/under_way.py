"""Notes in the record when an array changes that is being sent: MPI may read it at any time until the send is complete.

Runs beside the student's code. `autograde.rubric.communication.exchanges.changed_under_way` reads the notes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from course.simulated.layers import Layer, layered
from course.watch.notes import before_completion, note

STARTS = ("Isend", "Issend")  # calls that begin a send, and return before it is complete
CHANGED = "changed since send"  # how a note begins; then comes which of these calls it was, from 0


@contextmanager
def sends_under_way(comm: Any) -> Iterator[Any]:
    """The same communicator of mpi4py's, where what is sent is what the array was when the send began, so that the
    mistake has no other consequence; that the array changed until it was complete is noted. comm: one that is recorded.
    """
    layer = UnderWay(comm)
    try:
        yield layered(comm, layer)
        layer.look()
    finally:
        layer.over = True


class UnderWay(Layer):
    """See `sends_under_way`. over: whether nothing is looked at any more."""

    def __init__(self, comm: Any) -> None:
        self.comm, self.over, self.count = comm, False, 0
        self.sends: list[tuple[int, np.ndarray, np.ndarray]] = []  # what is sent has to stay until the run is over
        before_completion(comm, self.look)

    def look(self) -> None:
        """Note which arrays have changed, once each."""
        for each in [] if self.over else [*self.sends]:
            number, array, sent = each
            if array.tobytes() != sent.tobytes():
                note(self.comm, f"{CHANGED} {number}")
                self.sends = [other for other in self.sends if other is not each] + [(number, sent, sent)]

    def methods(self, base: type) -> dict[str, Callable]:
        """See `Layer`."""

        def starting(operation: str) -> Callable:
            def start(own: Any, buf: Any, *args: Any, **kwargs: Any) -> Any:
                array, *rest = buf if isinstance(buf, (list, tuple)) else [buf]
                if isinstance(array, np.ndarray):
                    sent = array.copy(order="K")
                    self.sends.append((self.count, array, sent))
                    buf = [sent, *rest] if rest else sent
                self.count += 1
                return getattr(base, operation)(own, buf, *args, **kwargs)

            return start

        return {operation: starting(operation) for operation in STARTS}
