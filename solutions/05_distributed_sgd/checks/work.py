"""The check of `work`."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from types import MappingProxyType
from typing import Any

import numpy as np

from autograde.contract.findings import Findings
from autograde.contract.rank_check import CallCheck, Rank
from autograde.contract.schema import array, integer, numbers, optional, tuple_of
from autograde.contract.verdict import Finding
from autograde.verdicts.collectives import only
from autograde.verdicts.diagnosis import same
from autograde.verdicts.exchanges import collectives_among, other_pairs
from autograde.verdicts.judged import Call, JudgedCalls, Run
from autograde.verdicts.traffic import traffic
from course.simulated.safe import safe

from .requests import DONE, KEPT, PULL, PUSH, TOKEN, TWO, draw, kept, open_call, own_messages

NAMES = MappingProxyType({PULL: "PULL", PUSH: "PUSH", DONE: "DONE"})

finding = Findings("""
pulls-only-once 2
Rank {rank} sends {sent}. It asks for the parameters once, so all its gradients but the first are computed with old
ones.

no-done 1
Rank {rank} sends {sent}, and returns. How does the server know that nothing more comes from it?

other-requests 2
Rank {rank} sends {sent}, where {steps} steps are asked for. Expected is {expected}.

waits-before-it-asks 2
Rank {rank} waits for a message from rank 0, and has not asked for any. Who sends the first message?

waits-for-thanks 2
Rank {rank} waits for an answer to its PUSH. A gradient is not answered.

pull-not-empty 0.5
Rank {rank} sends a {tag} of {bytes} bytes. It has nothing to say: the tag is enough. (A method in small letters pickles
what it sends, and a pickle is never empty.)

not-a-gradient 2
Rank {rank} sends a PUSH of {bytes} bytes, where {expected} are expected: {count} float64 as they are in memory.

pushes-parameters 2
Rank {rank} pushes the parameters that it pulled, or a multiple of them. What does the server subtract?

pushes-a-step 1
Rank {rank} pushes something else than what `gradient` returned for the parameters pulled last: number 0 is
{actual:.6g}, where the gradient is {expected:.6g}.

gradient-of-others 2
Rank {rank} calls `gradient` with other parameters than those it pulled last.

gradient-calls 1
Rank {rank} calls `gradient` {n} times in {steps} steps. Once a step is enough, and each call is a pass over a batch.
""")


def parameters_of(plan: dict, rank: int, number: int) -> np.ndarray:
    """What rank 0 answers to the PULL `number` of a rank: each time something else."""
    return draw(plan["seed"] + 100 * rank + number, plan["count"])


def gradient_at(parameters: np.ndarray) -> np.ndarray:
    """A gradient that tells parameters apart."""
    return 3 * parameters + np.cos(7 * parameters)


def serve(comm: Any, plan: dict) -> list[list[list]]:
    """A server that answers whatever comes, until all workers' functions have returned. Gives, for each worker, the
    [tag, bytes, numbers or None] of its messages."""
    from mpi4py import MPI

    log: list[list[list]] = [[] for _ in range(comm.size)]
    left, status = comm.size - 1, MPI.Status()
    while left:
        comm.Probe(status=status)
        source, tag, size = status.Get_source(), status.Get_tag(), status.Get_count(MPI.BYTE)
        came = np.empty(size, np.uint8)
        comm.Recv([came, MPI.BYTE], source=source, tag=tag)
        if tag == TOKEN:
            left -= 1
            continue
        values = came.view(np.float64) if size == 8 * plan["count"] and tag == PUSH else None
        log[source].append([tag, size, kept(values) if values is not None and np.isfinite(values).all() else None])
        if tag == PULL:
            answers = sum(each[0] == PULL for each in log[source]) - 1
            comm.Send(parameters_of(plan, source, answers), dest=source, tag=PULL)
    return log


class Work(CallCheck, JudgedCalls):
    """Workers beside a server that notes what they ask for."""

    todo, points, deadline = "work", 2, 12.0
    prices = MappingProxyType({"not-waited-for": 1, "collective-for-messages": 2})
    consolidation = (
        "A worker knows the server and nobody else: how many others there are, and how fast they are, does not matter "
        "to it. The parameters that it works with may be old when its gradient arrives."
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """One, two and three workers with different numbers of steps, also none; few parameters and many."""

        def call(count: int, *steps: int) -> dict:
            return {"count": count, "steps": [0, *steps], "seed": rng.getrandbits(30)}

        def case(ranks: list[int], *calls: dict) -> dict:
            return {"ranks": ranks, "calls": [*calls], "late": rng.randrange(len(ranks))}

        cases = [case([0, 1, 2, 3], call(3, 4, 0, 2), call(1500, 1, 2, 3)), case([2, 0, 3], call(3, 3, 2))]
        cases += [case([3, 1], call(2000, 3))]
        ### BEGIN HIDDEN CASES
        cases += [case([3, 1, 0, 2], call(4, 2, 5, 0), call(3, 0, 1, 3)), case([1, 3], call(2, 4), call(2500, 2))]
        ### END HIDDEN CASES
        return cases

    @staticmethod
    def call(function: Callable, rank: Rank, call: dict) -> dict:
        """On rank 0 what came from each worker; on a worker, the parameters of which it took the gradient."""
        comm = safe(rank.comm)
        if rank.rank == 0:
            return {"log": serve(comm, call), "asked": []}
        asked: list[list[float] | None] = []

        def gradient(parameters: Any) -> np.ndarray:
            values = np.array(parameters, dtype=np.float64)
            fits = values.shape == (call["count"],) and np.isfinite(values).all()
            asked.append(kept(values) if fits else None)
            return gradient_at(values)

        function(comm, gradient, call["count"], call["steps"][rank.rank])
        comm.Send(np.empty(0), dest=0, tag=TOKEN)
        return {"log": [[] for _ in range(rank.size)], "asked": asked[:100]}

    def shape(self, case: dict, call: dict) -> dict[str, dict]:
        """Six numbers of each array."""
        entry = tuple_of([integer(), integer(0), optional(numbers(KEPT))])
        return {"log": array(array(entry), len(case["ranks"])), "asked": array(optional(numbers(KEPT)))}

    def unfinished(self, case: dict, run: Run) -> Iterable[Finding]:
        """A worker that waits for what nobody sends."""
        if run.state != "hang":
            return
        for rank, log in enumerate(own_messages(run)):
            event = open_call(log)
            if not rank or event is None or event["kind"] != "recv":
                continue
            sent = [each["tag"] for each in log if each["kind"] in ("send", "sendrecv")]
            if sent and sent[-1] == PUSH:
                yield finding("waits-for-thanks", run.report, rank=rank)
                return
            if not sent:
                yield finding("waits-before-it-asks", run.report, rank=rank)
                return

    def judge(self, case: dict, call: Call) -> list[Finding]:
        """What each worker sent, in order."""
        if collective := collectives_among(call.events, TWO):
            return collective
        own = [[], *([event for event in log if event["tag"] != TOKEN] for log in call.events[1:])]
        pairs = {pair for rank in range(1, call.size) for pair in ((0, rank), (rank, 0))}
        found = other_pairs(traffic(own), pairs, TWO)[:1]
        for rank in range(1, call.size):
            found += self.of_worker(call.plan, rank, call.shown[0]["log"][rank], call.shown[rank]["asked"])
        return found + only("mpi4py", own)

    def of_worker(self, plan: dict, rank: int, log: list[list], asked: list[list[float] | None]) -> list[Finding]:
        """What is wrong with one worker's messages."""
        steps, count, tags = plan["steps"][rank], plan["count"], [tag for tag, _, _ in log]
        found = []
        if full := [(tag, size) for tag, size, _ in log if tag != PUSH and size]:
            tag = NAMES.get(full[0][0], f"message with tag {full[0][0]}")
            found.append(finding("pull-not-empty", rank=rank, tag=tag, bytes=full[0][1]))
        if odd := [size for tag, size, _ in log if tag == PUSH and size != 8 * count]:
            found.append(finding("not-a-gradient", rank=rank, bytes=odd[0], count=count, expected=8 * count))
        expected = [PULL, PUSH] * steps + [DONE]
        about: dict[str, Any] = {"rank": rank, "sent": in_words(tags)}
        if steps > 1 and tags in ([PULL, *[PUSH] * steps, DONE], [PULL, *[PUSH] * steps]):
            return [*found, finding("pulls-only-once", **about)]
        if tags == expected[:-1]:
            found.append(finding("no-done", **about))
        elif tags != expected:
            return [*found, finding("other-requests", **about, steps=steps, expected=in_words(expected))]
        if len(asked) != steps:
            found.append(finding("gradient-calls", rank=rank, n=len(asked), steps=steps))
        for number, pushed in enumerate(each[2] for each in log if each[0] == PUSH):
            pulled = parameters_of(plan, rank, number)
            if len(asked) == steps and not same(asked[number], kept(pulled)):
                return [*found, finding("gradient-of-others", rank=rank)]
            right = kept(gradient_at(pulled))
            if not odd and not same(pushed, right):
                if pushed and same(pushed, [pushed[0] / pulled[0] * each for each in kept(pulled)]):
                    return [*found, finding("pushes-parameters", rank=rank)]
                actual = pushed[0] if pushed else float("nan")
                return [*found, finding("pushes-a-step", rank=rank, actual=actual, expected=right[0])]
        return found


def in_words(tags: list[int]) -> str:
    """Tags as text."""
    return ", ".join(NAMES.get(tag, str(tag)) for tag in tags[:12]) or "nothing"


CHECK = Work()
