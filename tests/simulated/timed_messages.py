"""Cells that take the time of messages on a simulated network, and what they cost.

Other programs use this machine, so a rank may wake late: a time is the best of three, with something to spare upwards.
"""

from __future__ import annotations

import math

import pytest

# By how much more than it should a time may be longer: by as much as others like, and on a machine of our own by 25 %.
UPWARDS = pytest.mark.parametrize(
    "spare", [pytest.param(math.inf, id="at-least"), pytest.param(1.25, id="about", marks=pytest.mark.thorough)]
)
ALPHA, BETA = 40e-3, 2e-6  # seconds; seconds per byte

TIMED = f"""
    import time
    import numpy as np
    from mpi4py import MPI
    from course.simulated.network import simulated_network
    from course.simulated.safe import safe

    def simulated(comm, **more):
        return simulated_network(comm, {ALPHA}, {BETA}, **more)

    # When it began and ended on this rank, by the clock that the ranks of a machine share, three times.
    def timed(comm, exchange):
        times = []
        for _ in range(3):
            comm.Barrier()
            began = time.monotonic()
            exchange()
            times.append((began, time.monotonic()))
        return times
    """


def cost(size: int, alpha: float = ALPHA, beta: float = BETA) -> float:
    """Seconds that a message of so many bytes takes."""
    return alpha + beta * size


def shortest(results: list[list[tuple[float, float]]]) -> float:
    """The time from the first rank's begin to the last one's end, in the best try."""
    tries = zip(*results, strict=True)
    return min(max(end for _, end in times) - min(began for began, _ in times) for times in tries)


def takes(results: list, seconds: float, spare: float) -> bool:
    """Whether all ranks together took so long. spare: see UPWARDS."""
    # The network makes up for a millisecond by which a rank woke too late, be it for the barrier.
    return seconds - 2e-3 <= shortest(results) <= seconds * spare


SIZE = 40_000  # bytes of a message, in four chunks
# Rank 1 receives late.
LATE = (
    TIMED
    + f"""
    def f(comm, late):
        comm = simulated(comm)

        def exchange():
            if comm.rank == 0:
                comm.Send(np.zeros({SIZE}, "u1"), 1)
            else:
                time.sleep(late)
                comm.Recv(np.zeros({SIZE}, "u1"), 0)

        return timed(comm, exchange)
    """
)
