"""The check of `serve`."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from functools import partial
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import numpy as np

from autograde.contract.findings import Findings
from autograde.contract.rank_check import CallCheck, Rank
from autograde.contract.schema import array, boolean, integer, numbers, optional, record, string
from autograde.contract.verdict import Diagnosis, Finding
from autograde.probes.under_way import sends_under_way
from autograde.verdicts.collectives import only
from autograde.verdicts.diagnosis import diagnose
from autograde.verdicts.exchanges import changed_under_way, collectives_among
from autograde.verdicts.judged import Call, JudgedCalls, Run
from course.simulated.layers import layered
from course.simulated.safe import safe
from course.watch.events import ANY
from course.watch.recorder import unwatched

from .late_messages import Unfair
from .requests import DONE, KEPT, PULL, PUSH, TOKEN, TWO, draw, in_words, kept, like_array, open_call, own_messages

finding = Findings("""
no-parameters 4
Rank 0 returns {kind}. The parameters are expected, an array of float64 of shape [{count}].

changed-under-way 2
Rank 0 starts sending an array by `Isend`, and changes it before that is finished. The worker may get other parameters
than those that its PULL found. Which array may change meanwhile, and which may not?

returns-its-argument 1
What rank 0 returns shares its memory with the argument. Whoever changes the one changes the other, too.

gone-too-early 4
Rank 0 returns after {done} DONE of {workers} workers, and rank {rank} still waits for it. When has a server nothing
left to do?

never-goes 4
All {workers} workers have sent DONE, and rank 0 waits for another message. How does it know that it was the last one?

waits-for-one-worker 4
Rank 0 waits for a message from rank {waited}, while rank {rank} asks it for the parameters or brings a gradient. Who
comes next is not known beforehand: a slow worker would keep all others waiting.

waits-for-all 4
Rank {rank} has asked for the parameters and gets no answer, while rank 0 waits for other messages. A PULL is answered
at once, with the parameters as they are then, whoever else has pushed or not.

answer-nobody-asked-for 4
Rank 0 sends a message to rank {rank}, which does not wait for one: it has asked for nothing, or has its answer
already. Only a PULL is answered, and only to the worker that sent it.

probe-then-anybody 4
Rank 0 probes for a message, and then receives one of another rank than the one that it has probed. If any source will
do for the receive, MPI may deliver any message. How do you receive the one that you have looked at?

other-tag 1
The answer to a PULL comes with tag {tag}. Tag PULL is expected, which is {pull}.

answer-of-another-length 3
Rank 0 answers a PULL with {count} numbers, where there are {expected} parameters.

answers-with-the-first 3
Each PULL is answered with the parameters of the beginning. Answer with them as they are now: what has been pushed so
far should be in them.

divided-by-workers 2
Each gradient is divided by the number of workers. The server takes it as it comes: parameters -= rate * gradient.

gradient-not-subtracted 2
The parameters move with the gradient, which points uphill.

rate-forgotten 2
Each gradient is taken whole: `rate` is missing.

only-the-last-push 3
The parameters follow from the last gradient alone. Every gradient changes the parameters as they are.

returns-the-first 2
The answers are right, but rank 0 returns the parameters of the beginning.

other-parameters 4
After {pushes} gradients, number {place} of the parameters should be {expected:.6g}. It is {actual:.6g} in {where}.
""")


def probes_anybody(log: list[dict]) -> bool:
    """Whether a rank probes for any message, then asks for any, and so receives another rank's than it has probed."""
    pairs = pairwise(event for event in log if event["times"] is None)
    return any(
        (one["kind"], two["kind"]) == ("probe", "recv")
        and one["asked_source"] == two["asked_source"] == ANY
        and one["peer"] != two["peer"]
        for one, two in pairs
    )


def gradient_of(plan: dict, number: int) -> np.ndarray:
    """The gradient of the entry `number` of a call's script."""
    return draw(plan["seed"] + 1 + number, plan["count"])


def act(comm: Any, tokens: Any, plan: dict) -> list[dict]:
    """A worker's part in a call's script. Gives what it pulled.

    Where the case says so, each entry is done only when the one before it is.
    """
    from mpi4py import MPI

    pulled, script, me, nothing = [], plan["script"], comm.rank, np.empty(0)
    for number, (worker, tag) in enumerate(script):
        if worker != me:
            continue
        if plan["turns"] and number and script[number - 1][0] != me:
            tokens.recv(source=script[number - 1][0], tag=TOKEN)
        comm.Send(gradient_of(plan, number) if tag == PUSH else nothing, dest=0, tag=tag)
        if tag == PULL:
            values, status = np.zeros(plan["count"] + 8), MPI.Status()
            comm.Recv(values, source=0, status=status)
            came = status.Get_count(MPI.DOUBLE)
            fits = came == plan["count"] and np.isfinite(values).all()
            shown = kept(values[:came]) if fits else None
            pulled.append({"number": number, "tag": status.Get_tag(), "count": max(0, came), "values": shown})
        if plan["turns"] and number + 1 < len(script) and script[number + 1][0] != me:
            tokens.send(None, dest=script[number + 1][0], tag=TOKEN)
    return pulled


def replay(
    plan: dict, factor: float = 1.0, adds: bool = True, answers: bool = True, returns: bool = True, last: int = 0
) -> list[list[float]]:
    """What is kept of the parameters in each answer, where the order is certain, and of those that are returned.

    factor: of every step. adds: whether a gradient changes the parameters as they are, or those of the beginning.
    answers, returns: whether with the parameters as they are then, or with those of the beginning.
    last: the worker whose gradients alone are taken, 0 for all.
    """
    first = draw(plan["seed"], plan["count"])
    now, found = first, []
    for number, (worker, tag) in enumerate(plan["script"]):
        if tag == PUSH and last in (0, worker):
            now = (now if adds else first) - factor * plan["rate"] * gradient_of(plan, number)
        if tag == PULL and plan["turns"]:
            found.append(kept(now if answers else first))
    return [*found, kept(now if returns else first)]


class Serve(CallCheck, JudgedCalls):
    """Workers that follow a script, in an order of arrival that is certain, and then without any."""

    todo, points, deadline = "serve", 4, 12.0
    prices = MappingProxyType({"not-waited-for": 1, "collective-for-messages": 2})
    consolidation = (
        "The parameters live in one place, and no worker waits for another: a slow one only keeps itself waiting. The "
        "price is that a gradient may come after others have changed what it was computed for."
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """Workers that pull and push in all orders, often, never, and without a new pull; few parameters and many."""

        def call(workers: int, count: int, turns: bool, *starts: tuple[int, int]) -> dict:
            script = [[worker, PULL] for worker in range(1, workers + 1) if worker != 2 or workers < 2]
            script += [list(each) for each in starts]
            # One has pulled, and pushes only when another has pushed five times.
            busy = workers
            script += [[busy, tag] for tag in (PUSH, PULL, PUSH, PUSH, PULL, PUSH, PUSH)]
            script += [[1, PUSH], [1, PULL]] + ([] if busy == 1 else [[busy, PULL]])
            ends = [[worker, DONE] for worker in range(1, workers + 1)]
            rng.shuffle(ends)
            late = ends.pop()[0]
            script += [*ends, [late, PUSH], [late, PULL], [late, DONE]]
            about = {"count": count, "rate": rng.uniform(0.1, 0.9), "seed": rng.getrandbits(30)}
            return about | {"turns": turns, "script": script, "safe": True}

        def case(ranks: list[int], *calls: dict) -> dict:
            return {"ranks": ranks, "calls": [*calls]}

        cases = [
            case([0, 1, 2, 3], call(3, 3, True, (3, PUSH), (1, PUSH)), call(3, 5000, True)),
            case([2, 0, 3], call(2, 3, True, (1, PUSH)), call(2, 3, False)),
            case([3, 1], call(1, 5000, True)),
            case([1], {"count": 3, "rate": 0.5, "seed": 1, "turns": True, "script": [], "safe": True}),
        ]
        return cases

    @staticmethod
    def call(function: Callable, rank: Rank, call: dict) -> dict:
        """What a worker pulled; what rank 0 returned."""
        tokens = unwatched(type(rank.comm).Dup)(rank.comm)
        comm = safe(rank.comm)
        shown: dict[str, Any] = {"kind": "", "result": None, "shared": False, "pulled": []}
        if rank.rank:
            return shown | {"pulled": act(comm, tokens, call)}
        first = draw(call["seed"], call["count"])
        rank.argument("parameters", first)
        with sends_under_way(comm if call["turns"] else layered(comm, Unfair())) as comm:
            value = function(comm, first, call["rate"])
        result = like_array(value, call["count"])
        shown |= {"kind": in_words(value), "result": None if result is None else kept(result)}
        return shown | {"shared": isinstance(value, np.ndarray) and bool(np.shares_memory(value, first))}

    def shape(self, case: dict, call: dict) -> dict[str, dict]:
        """Six numbers of each array."""
        values = optional(numbers(KEPT))
        pulled = array(record(number=integer(0), tag=integer(), count=integer(0), values=values))
        return {"kind": string(), "result": values, "shared": boolean(), "pulled": pulled}

    def unfinished(self, case: dict, run: Run) -> Iterable[Finding]:
        """Who waits for whom."""
        if run.state != "hang":
            return
        logs = own_messages(run)
        plan = self.calls(case)[min(run.reached, len(self.calls(case)) - 1)]
        workers = len(logs) - 1
        served, calls = open_call(logs[0]), [open_call(log) for log in logs]
        done = sum(event["tag"] == DONE and event["end"] is not None for log in logs[1:] for event in log)
        waiting = [rank for rank in range(1, workers + 1) if calls[rank]]
        if not plan["turns"] and probes_anybody(logs[0]):  # with turns it went well
            yield finding("probe-then-anybody", run.report)
        elif served is None:
            if waiting:
                yield finding("gone-too-early", run.report, done=done, workers=workers, rank=waiting[0])
        elif served["kind"] == "send":
            yield finding("answer-nobody-asked-for", run.report, rank=served["peer"])
        elif served["kind"] in ("recv", "probe"):
            if done == workers and plan["script"]:
                yield finding("never-goes", run.report, workers=workers)
            elif sends := [rank for rank in waiting if calls[rank]["kind"] == "send"]:
                about = {"waited": served["peer"], "rank": sends[0]}
                yield finding("waits-for-one-worker", run.report, **about)
            elif asks := [rank for rank in waiting if calls[rank]["kind"] == "recv"]:
                yield finding("waits-for-all", run.report, rank=asks[0])

    def judge(self, case: dict, call: Call) -> list[Finding | Diagnosis]:
        """The answers and the result; then how rank 0 received."""
        plan, shown = call.plan, call.shown[0]
        if shown["result"] is None or None in shown["result"]:
            kind = shown["kind"] + (" with a number that is not finite" if shown["result"] else "")
            return [finding("no-parameters", kind=kind, count=plan["count"])]
        answers = sorted(
            (each for other in call.shown[1:] for each in other["pulled"]), key=lambda each: each["number"]
        )
        for each in answers:
            if each["count"] != plan["count"] or each["values"] is None or None in each["values"]:
                return [finding("answer-of-another-length", count=each["count"], expected=plan["count"])]
        judged = self.values(plan, answers, shown["result"], call.size)
        if judged.otherwise and not plan["turns"] and probes_anybody(call.events[0]):
            return [finding("probe-then-anybody")]
        found: list[Finding | Diagnosis] = [judged]
        if changed_under_way(call.noted[0]):
            found.insert(0, finding("changed-under-way"))
        tags = {each["tag"] for each in answers} - {PULL}
        found += [finding("other-tag", tag=tag, pull=PULL) for tag in sorted(tags)[:1]]
        found += [finding("returns-its-argument")] if shown["shared"] else []
        own = [[event for event in log if event["tag"] != TOKEN] for log in call.events]
        return found + (collectives_among(own, TWO) or only("mpi4py", own))

    def values(self, plan: dict, answers: list[dict], result: list[float], size: int) -> Diagnosis:
        """The numbers of one call."""
        actual = [each["values"] for each in answers] if plan["turns"] else []
        actual, expected = [*actual, result], replay(plan)
        candidates = {
            "answers-with-the-first": replay(plan, answers=False),
            "answers-with-the-first/and returns": replay(plan, answers=False, returns=False),
            "divided-by-workers": replay(plan, factor=1 / max(1, size - 1)),
            "divided-by-workers/and server": replay(plan, factor=1 / size),
            "gradient-not-subtracted": replay(plan, factor=-1),
            "rate-forgotten": replay(plan, factor=1 / plan["rate"]),
            "only-the-last-push": replay(plan, adds=False),
            "returns-the-first": replay(plan, returns=False),
        }
        if not plan["turns"]:  # whichever worker's last gradient comes last
            for worker in range(1, size):
                candidates[f"only-the-last-push/{worker}"] = replay(plan, adds=False, last=worker)
        off = [
            (number, place)
            for number, (one, other) in enumerate(zip(actual, expected, strict=False))
            for place in range(4)
            if abs(one[place] - other[place]) > 1e-12
        ]
        number, place = off[0] if off else (len(expected) - 1, 0)
        where = "what rank 0 returns" if number == len(expected) - 1 else f"the answer to PULL number {number}"
        about: dict[str, Any] = {"place": [0, 1, plan["count"] // 2, plan["count"] - 1][place], "where": where}
        about |= {"actual": actual[min(number, len(actual) - 1)][place], "expected": expected[number][place]}
        about["pushes"] = sum(tag == PUSH for _, tag in plan["script"])
        return diagnose("served", actual, expected, candidates, partial(finding, **about), "other-parameters")


CHECK = Serve()
