"""Calls of `serve`, beside workers that follow a script."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.evidence import Array, Evidence, judged_in_calls, unjudged
from autograde.probes.under_way import sends_under_way
from course.simulated.layers import layered
from course.simulated.safe import safe
from course.watch.recorder import unwatched

from ..shared.requests import PULL, PUSH, TURN, drawn, gradient_of
from .late_messages import Unfair


@unjudged(number="it puts the answers in order")
class Answer(Evidence):
    """The answer to a PULL. number: of the entry in the script. tag: of the message. values: its numbers."""

    number: int
    tag: int
    values: Array


@judged_in_calls(answers="where workers take turns, the order of their requests is known")
class Seen(Evidence):
    """What rank 0 returned; what a worker got."""

    result: Array
    answers: list[Answer]


def act(comm: Any, call: dict) -> list[Answer]:
    """A worker's part in the script of entries [worker, tag]; with `turns`, one after the other."""
    from mpi4py import MPI

    answers, script, me, nothing = [], call["script"], comm.rank, np.empty(0)
    others = unwatched(type(comm).Dup)(comm)  # on which workers tell each other whose turn it is
    sending = safe(comm)
    for number, (worker, tag) in enumerate(script):
        if worker != me:
            continue
        if call["turns"] and number and script[number - 1][0] != me:
            others.recv(source=script[number - 1][0], tag=TURN)
        sending.Send(gradient_of(call, number) if tag == PUSH else nothing, dest=0, tag=tag)
        if tag == PULL:
            values, status = np.zeros(call["count"] + 8), MPI.Status()
            sending.Recv(values, source=0, status=status)
            came = max(0, status.Get_count(MPI.DOUBLE))
            answers.append(Answer(number, status.Get_tag(), Array.of(values[:came])))
        if call["turns"] and number + 1 < len(script) and script[number + 1][0] != me:
            others.send(None, dest=script[number + 1][0], tag=TURN)
    return answers


def call(serve: Callable, rank: CallRank, call: dict) -> Seen:
    """One call on rank 0; the others are its workers. Without `turns`, a probe for any message may be outrun."""
    if rank.rank:
        return Seen(Array.of(None), act(rank.comm, call))
    unwatched(type(rank.comm).Dup)(rank.comm)
    first = rank.argument("parameters", drawn(call["seed"], call["count"]))
    comm = safe(rank.comm)
    with sends_under_way(comm if call["turns"] else layered(comm, Unfair())) as comm:
        return Seen(rank.returned(serve(comm, first, call["rate"]), parameters=first), [])


PROBE = CallProbe(Seen, call, deadline=12.0)
