"""The check of `tree_reduce`."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from functools import partial, reduce
from types import MappingProxyType
from typing import Any

import numpy as np

from autograde.contract.findings import Findings
from autograde.contract.rank_check import CallCheck, Rank
from autograde.contract.verdict import Diagnosis, Finding
from autograde.verdicts.collectives import only
from autograde.verdicts.diagnosis import diagnose
from autograde.verdicts.exchanges import not_received
from autograde.verdicts.judged import Call, JudgedCalls, Run
from autograde.verdicts.point_to_point import stuck
from autograde.verdicts.traffic import Traffic, traffic
from course.simulated.safe import safe
from course.world.report import name_ranks

from .arrays import near, not_as_expected, other_shape, shape_of_shown, shared, shown, sketch, some_of, values_of
from .plans import any_plan, least_rounds
from .traffic import MESSAGES_ONLY, buffers_only

OPS = {"add": np.add, "multiply": np.multiply, "maximum": np.maximum, "minimum": np.minimum}

finding = Findings("""
nothing-on-the-root 3
Rank {root} of {size} is the root and returns {kind}. It should have the result.

result-on-another-rank 2
The root is rank {root}, but it is rank {other} that has the result.

result-on-others-too 0.5
Rank {rank} is not the root and returns an array. None is expected there: what it has is not the result.

sum-whatever-op 1.5
With `op` = np.{op}, the root returns the sum. Which function should combine two arrays?

own-array-passed-on 3
Rank {rank} receives the array of {sources}, and what it then sends to rank {target} is its own array alone. What
should it pass on?

receives-after-it-sent 3
Rank {rank} sends its array to rank {target}, and only then receives one from rank {source}. What comes in so late
reaches nobody. Who has to wait for whom?

ranks-left-out 3
The root's result combines the arrays of {who} only. Those of the other ranks are not in it.{dtypes}

other-result 3
Entry {place} of the root's result is {actual:.8g}, where np.{op} of all {size} ranks' entries is {expected:.8g}.

sends-more-than-one 1
Rank {rank} of {size} sends {n} messages, with root {root}. Each rank but the root sends one, and the root none.

all-to-the-root 1.5
The number is right. But all {n} messages go to rank {root}, which takes them in one after the other: {n} rounds, where
{least} are enough. Who else could receive meanwhile?

in-a-chain 1.5
The number is right. But each rank waits for the one behind it: {n} rounds one after the other, where {least} are
enough. Which messages could be on their way at the same time?

tree-too-deep 1.5
The number is right. But your messages take {n} rounds on {size} ranks, where {least} are enough.
""")


class TreeReduce(CallCheck, JudgedCalls):
    """What the root has, and along which tree it got there."""

    todo, points = "tree_reduce", 3
    consolidation = (
        "A reduction is a broadcast run backwards, in log2 N rounds: each rank waits for all that is to come to it, "
        "combines, and sends once. What moves are whole arrays."
    )
    prices = MappingProxyType(
        {
            **MESSAGES_ONLY,
            "argument-changed": 1,
            "not-waited-for": 1.5,
            "no-such-rank": 1.5,
            "sends-first": 2,
            "message-not-received": 1.5,
            "message-never-sent": 3,
        }
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """Each operation; roots in every place; few numbers, many and none; plain and safe."""

        def call(size: int, op: str, shape: list[int], dtype: str, safe: bool = True) -> dict:
            most = {"most": 9} if op == "multiply" else {}
            about = {"op": op, "shape": shape, "dtype": dtype, "root": rng.randrange(size), "safe": safe}
            return about | {"seed": rng.getrandbits(32), "plan": rng.getrandbits(32)} | most

        def case(ranks: list[int], *calls: tuple) -> dict:
            plans = [call(len(ranks), *each) for each in calls]
            plans[0]["root"] = len(ranks) - 1
            return {"ranks": ranks, "calls": plans, "late": rng.randrange(len(ranks))}

        few, table, many, none = [8], [3, 4], [30_001], [0]
        cases = [
            case(
                [0, 1, 2, 3],
                ("add", few, "float64"),
                ("maximum", table, "int64"),
                ("add", many, "float32", False),
                ("multiply", few, "float32"),
            ),
            case([2, 0, 3], ("minimum", few, "float64"), ("add", table, "int64", False), ("add", none, "int64")),
            case([3, 1], ("multiply", table, "int64"), ("add", many, "float64")),
            case([1], ("add", few, "float64")),
        ]
        return cases

    @staticmethod
    def given(rank: Rank, case: dict) -> dict[str, Any]:
        """A plan other than the solution's, for answers that read it backwards."""
        return {"broadcast_rounds": partial(any_plan, case["calls"][0]["plan"])}

    @staticmethod
    def call(function: Callable, rank: Rank, call: dict) -> dict:
        """What this rank returned."""
        own = values_of(rank.rank, call)
        rank.argument("array", own)
        comm = safe(rank.comm) if call["safe"] else rank.comm
        return shown(function(comm, own, call["root"], OPS[call["op"]]), own)

    def shape(self, case: dict, call: dict) -> dict[str, dict]:
        """An array, or what came instead."""
        return shape_of_shown()

    def unfinished(self, case: dict, run: Run) -> Iterable[Finding]:
        """Who waits for whom."""
        return stuck(run)

    def judge(self, case: dict, call: Call) -> list[Finding | Diagnosis]:
        """The root's result, and then the tree."""
        size, root, arrays = call.size, call.plan["root"], [values_of(rank, call.plan) for rank in range(call.size)]
        foreign = buffers_only(call.events)
        if any(each.key == "collective-for-messages" for each in foreign):
            return foreign
        result, found = call.shown[root], [*foreign, *only("mpi4py", call.events)]
        right = reduce(OPS[call.plan["op"]], arrays)
        alike = near(call.plan["dtype"])
        if result["array"] is None:
            elsewhere = [
                rank
                for rank, each in enumerate(call.shown)
                if each["array"] and alike(each["array"]["sketch"], sketch(right))
            ]
            if elsewhere and size > 1:
                return [*found, finding("result-on-another-rank", root=root, other=elsewhere[0])]
            return [*found, finding("nothing-on-the-root", root=root, size=size, kind=result["kind"])]
        others = [rank for rank in range(size) if rank != root and call.shown[rank]["kind"] != "None"]
        if others:
            found.append(finding("result-on-others-too", rank=others[0]))
        on_root = [result]
        if off := not_as_expected(on_root, [right]) or [each for each in [other_shape(on_root, [right])] if each]:
            return [*found, *off]
        seen = traffic(call.events)
        number = self.number(call, arrays, right, seen)
        found += [number, *shared(call.shown)]
        return found if number.otherwise is not None else [*found, *self.tree(call, seen)]

    def number(self, call: Call, arrays: list[np.ndarray], right: np.ndarray, seen: Traffic) -> Diagnosis:
        """The root's result against what known mistakes give."""
        root, plan = call.plan["root"], call.plan
        actual, expected = call.shown[root]["array"]["sketch"], sketch(right)
        alike = near(plan["dtype"])
        off = next((place for place in range(len(expected)) if not alike(actual[place], expected[place])), 0)
        about = {"op": plan["op"], "size": call.size, "place": off}
        numbers = {"actual": actual[off] or 0.0, "expected": expected[off]} if expected else {}
        known = {"sum-whatever-op": sketch(reduce(np.add, arrays))}
        otherwise, dtypes = None, ""
        if plan["dtype"] != "float64" and senders_to(seen, root):
            dtypes = f" Entries are sent as {plan['dtype']}: as what are they received?"
        if not alike(actual, expected):
            otherwise = late_arrival(seen) or passed_on(seen, root, actual, arrays, OPS[plan["op"]], plan["dtype"])
            ranks = some_of(actual, arrays, OPS[plan["op"]], plan["dtype"])
            if otherwise is None and ranks:
                otherwise = finding("ranks-left-out", who=name_ranks(ranks), dtypes=dtypes)
            otherwise = otherwise or finding("other-result", **about, **numbers)
        made = partial(finding, op=plan["op"])
        return diagnose("result", actual, expected, known, made, otherwise or "other-result", alike)

    def tree(self, call: Call, seen: Traffic) -> list[Finding]:
        """How many messages each rank sends, and how many rounds they take."""
        size, root = call.size, call.plan["root"]
        empty = 0 in call.plan["shape"]
        for rank, n in enumerate(seen.steps()):
            if n > (rank != root):
                return [finding("sends-more-than-one", rank=rank, size=size, n=n, root=root)]
        if lost := not_received(seen):
            return lost
        n, least = depth(seen, root), least_rounds(size)
        if empty or n <= least:
            return []
        targets = {target for _, target in seen.sends}
        chain = all(len(senders_to(seen, rank)) < 2 for rank in range(size))
        key = "all-to-the-root" if targets == {root} else "in-a-chain" if chain else "tree-too-deep"
        return [finding(key, n=n, least=least, root=root, size=size)]


def senders_to(seen: Traffic, rank: int) -> list[int]:
    """Who sends to a rank."""
    return sorted(source for source, target in seen.sends if target == rank)


def depth(seen: Traffic, rank: int) -> int:
    """Rounds until all that comes to a rank is there, if it receives what is ready first."""
    rounds = 0
    for each in sorted(depth(seen, source) for source in senders_to(seen, rank)):
        rounds = max(rounds, each) + 1
    return rounds


def late_arrival(seen: Traffic) -> Finding | None:
    """The finding for a rank that receives after it has sent."""
    for sent in seen.messages:
        for came in seen.messages:
            if came.destination == sent.source and came.arrived is not None and came.arrived > sent.sent:
                about = {"rank": sent.source, "target": sent.destination, "source": came.source}
                return finding("receives-after-it-sent", **about)
    return None


def passed_on(seen: Traffic, root: int, actual: list, arrays: list[np.ndarray], op: Any, dtype: str) -> Finding | None:
    """The finding for a result that is of the root and of those alone who send to it, while others send to these."""
    direct = senders_to(seen, root)
    if not near(dtype)(actual, sketch(reduce(op, [arrays[rank] for rank in (root, *direct)]))):
        return None
    for rank in direct:
        if sources := [source for source in senders_to(seen, rank) if source != root]:
            return finding("own-array-passed-on", rank=rank, sources=name_ranks(sources), target=root)
    return None


CHECK = TreeReduce()
