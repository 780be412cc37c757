"""Calls of `work`, beside a server that notes what the workers ask for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.evidence import Array, Evidence, judged_in_places
from autograde.probes.under_way import sends_under_way
from course.simulated.safe import safe

from ..shared.requests import PULL, PUSH, gradient_at, parameters_of

BACK = 77  # tag of the message that a worker's function has returned
MOST = 100  # messages, and calls of `gradient`, that are kept


class Request(Evidence):
    """A worker's message. values: its numbers, if it is a PUSH of the right length."""

    tag: int
    bytes: int
    values: Array


@judged_in_places(asked="the numbers are judged; `gradient` takes any type and shape")
class Seen(Evidence):
    """What came to rank 0 from each worker; of which parameters a worker took the gradient."""

    requests: list[list[Request]]
    asked: list[Array]


def serve(comm: Any, call: dict) -> list[list[Request]]:
    """Answers whatever comes, until the functions of all workers have returned. Gives their messages, by rank."""
    from mpi4py import MPI

    requests: list[list[Request]] = [[] for _ in range(comm.size)]
    left, status = comm.size - 1, MPI.Status()
    while left:
        comm.Probe(MPI.ANY_SOURCE, MPI.ANY_TAG, status)
        source, tag, size = status.Get_source(), status.Get_tag(), status.Get_count(MPI.BYTE)
        came = np.empty(size, np.uint8)
        comm.Recv([came, MPI.BYTE], source=source, tag=tag)
        if tag == BACK:
            left -= 1
            continue
        whole = tag == PUSH and size == 8 * call["count"]
        requests[source].append(Request(tag, size, Array.of(came.view(np.float64) if whole else None)))
        if tag == PULL:
            number = sum(each.tag == PULL for each in requests[source]) - 1
            comm.Send(parameters_of(call, source, number), dest=source, tag=PULL)
    return [each[:MOST] for each in requests]


def call(work: Callable, rank: CallRank, call: dict) -> Seen:
    """One call on each worker; rank 0 is the server."""
    if rank.rank == 0:
        return Seen(serve(rank.comm, call), [])
    asked: list[Array] = []

    def gradient(parameters: Any) -> np.ndarray:
        asked.append(Array.of(parameters))
        return gradient_at(np.array(parameters, dtype=np.float64))

    with sends_under_way(safe(rank.comm)) as comm:
        work(comm, gradient, call["count"], call["steps"][rank.rank])
    rank.comm.Send(np.empty(0), dest=0, tag=BACK)
    return Seen([], asked[:MOST])


PROBE = CallProbe(Seen, call, deadline=12.0)
