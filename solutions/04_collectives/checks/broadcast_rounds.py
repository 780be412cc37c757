"""The check of `broadcast_rounds`."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from operator import index
from typing import Any

from autograde.contract.calls import type_in_words
from autograde.contract.findings import Findings
from autograde.contract.rank_check import CallCheck, Rank
from autograde.contract.schema import array, integer, string
from autograde.contract.verdict import Diagnosis, Finding
from autograde.verdicts.judged import Call, JudgedCalls
from course.world.report import name_ranks

from .plans import least_rounds

MOST = 64  # rounds, and pairs of a round, that are looked at

SLIPS = ("pairs-turned-round", "root-sends-to-all-at-once", "plan-of-another-root")

Plan = Sequence[Sequence[Sequence[int]]]

finding = Findings("""
not-a-plan 3
For {size} ranks your function returns {kind}. A list of rounds is expected, and each round is a list of pairs (from,
to).

rank-beyond-size 2
With {size} ranks, your plan has a message {pair}, and there is no such rank. Who has nobody to send to in the last
round, if the number of ranks is no power of two?

plan-of-another-root 1.5
With root {root} of {size}, your plan begins at rank {other}, which does not have the array. It is a good plan for
another root.

pairs-turned-round 1.5
In your pairs (a, b), b has the array and a is to get it. It should be the other way round: (from, to).

root-sends-to-all-at-once 2
In one round, rank {rank} sends to {n} others. Its line carries one message at a time, so in fact it takes {n} rounds.

busy-twice-in-a-round 2
In round {round} of {size} ranks, rank {rank} is in {n} pairs: {pairs}. In one round a rank either sends one message or
receives one.

sends-what-it-has-not 3
With {size} ranks and root {root}, rank {rank} sends in round {round}, but it has not got the array in an earlier one.

gets-it-twice 1.5
With {size} ranks and root {root}, rank {rank} has the array already when it gets it in round {round}.

never-gets-it 2
With {size} ranks and root {root}, your plan of {n} rounds is over before {who} has the array.

one-by-one 1.5
Your plan is right, and slow: rank {root} sends all {messages} messages, so {n} rounds are needed for {size} ranks.
Meanwhile, those who have the array already stand idle.

more-rounds-than-needed 1.5
Your plan for {size} ranks has {n} rounds. Everybody who has the array can pass it on in each round, and then {least}
are enough.
""")


def first_broken(plan: Plan, size: int, root: int) -> Finding | None:
    """The first rule that a plan breaks, in the order of its rounds; None if everybody gets the array by it."""
    about: dict[str, Any] = {"size": size, "root": root}
    has = {root}
    for number, pairs in enumerate(plan, 1):
        if beyond := [pair for pair in pairs if not all(0 <= rank < size for rank in pair)]:
            return finding("rank-beyond-size", size=size, pair=tuple(beyond[0]))
        busy = Counter(rank for pair in pairs for rank in pair)
        for rank, n in busy.items():
            if n > 1:
                own = ", ".join(str(tuple(pair)) for pair in pairs if rank in pair)
                return finding("busy-twice-in-a-round", size=size, round=number, rank=rank, n=n, pairs=own)
        for source, destination in pairs:
            if source not in has:
                return finding("sends-what-it-has-not", rank=source, round=number, **about)
            if destination in has:
                return finding("gets-it-twice", rank=destination, round=number, **about)
        has |= {destination for _, destination in pairs}
    if missing := sorted({*range(size)} - has):
        return finding("never-gets-it", who=name_ranks(missing), n=len(plan), **about)
    return None


class BroadcastRounds(CallCheck, JudgedCalls):
    """Plans are held against the rules, never against one plan."""

    todo, points = "broadcast_rounds", 3
    consolidation = (
        "In each round, everybody who has the array can serve one more: the number of those who have it doubles. That "
        "is why a tree needs only log2 N rounds, where one sender alone needs N - 1."
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """All sizes up to 9 and some larger ones, with roots in every place."""

        def calls(*sizes: int) -> dict:
            pairs = [(size, root) for size in sizes for root in (0, size - 1, rng.randrange(size))]
            pairs = sorted({*pairs}, key=lambda pair: (pair[1] > 0, pair))  # what fails for root 0 is to be told first
            return {"calls": [{"size": size, "root": root} for size, root in pairs]}

        cases = [calls(*range(1, 10), 16, 17)]
        ### BEGIN HIDDEN CASES
        cases += [calls(*range(10, 16))]
        ### END HIDDEN CASES
        return cases

    @staticmethod
    def call(function: Callable, rank: Rank, call: dict) -> dict:
        """The plan as lists, or what came instead."""
        value = function(call["size"], call["root"])
        try:
            plan = [[[index(source), index(destination)] for source, destination in pairs] for pairs in value]
        except (TypeError, ValueError):
            kind = "None" if value is None else f"{type_in_words(value)} of another form"
            return {"kind": kind, "plan": []}
        return {"kind": "", "plan": [pairs[:MOST] for pairs in plan[:MOST]]}

    def shape(self, case: dict, call: dict) -> dict[str, dict]:
        """Rounds of pairs."""
        pairs = array(array(integer(), 2), most=MOST)
        return {"kind": string(), "plan": array(pairs, most=MOST)}

    def judge(self, case: dict, call: Call) -> list[Finding | Diagnosis]:
        """The rules, and then the number of rounds."""
        [result], size, root = call.shown, call.plan["size"], call.plan["root"]
        plan = result["plan"]
        if result["kind"]:
            return [finding("not-a-plan", size=size, kind=result["kind"])]
        if broken := first_broken(plan, size, root):
            return [explained(broken, plan, size, root)]
        right = Diagnosis("plan", ruled_out=frozenset(["pairs-turned-round", "root-sends-to-all-at-once"][: size - 1]))
        if len(plan) <= least_rounds(size):
            return [right]
        senders, messages = {source for pairs in plan for source, _ in pairs}, sum(map(len, plan))
        if senders == {root} and len(plan) == size - 1:
            return [right, finding("one-by-one", root=root, messages=messages, n=len(plan), size=size)]
        return [right, finding("more-rounds-than-needed", size=size, n=len(plan), least=least_rounds(size))]


def explained(broken: Finding, plan: Plan, size: int, root: int) -> Diagnosis:
    """What known mistakes say to a plan that breaks a rule."""
    known: dict[str, Finding | None] = dict.fromkeys(SLIPS)
    turned = [[(destination, source) for source, destination in pairs] for pairs in plan]
    if not first_broken(turned, size, root):
        known["pairs-turned-round"] = finding("pairs-turned-round")
    if len(plan) == 1 and sorted(map(tuple, plan[0])) == [(root, rank) for rank in range(size) if rank != root]:
        known["root-sends-to-all-at-once"] = finding("root-sends-to-all-at-once", rank=root, n=size - 1)
    others = [other for other in range(size) if other != root and not first_broken(plan, size, other)]
    if others:
        known["plan-of-another-root"] = finding("plan-of-another-root", size=size, root=root, other=others[0])
    told = tuple(each for each in known.values() if each)
    return Diagnosis("plan", told, frozenset(key for key, each in known.items() if not each), broken)


CHECK = BroadcastRounds()
