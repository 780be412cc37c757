"""The check of `in_turn`."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable
from itertools import pairwise
from types import MappingProxyType

from autograde.contract.calls import described
from autograde.contract.findings import Findings
from autograde.contract.rank_check import CallCheck, Rank
from autograde.contract.schema import array, boolean, described_value, number, record
from autograde.contract.verdict import Finding
from autograde.verdicts.exchanges import too_large
from autograde.verdicts.judged import Call, JudgedCalls, Run
from autograde.verdicts.point_to_point import other_messages, stuck
from autograde.verdicts.traffic import traffic
from course.simulated.safe import safe

LASTS = 0.08  # seconds that an action takes
CLOCKS = 0.01  # seconds by which the clocks of two nodes may differ
TOKEN = 100  # bytes of a message, at most
LONG = 200  # entries of a long result, which do not fit into such a message

finding = Findings("""
action-not-once 2
On rank {rank} of {size}, `action` is called {n} times. Every rank calls its own action exactly once.

nobody-waits 2
The ranks exchange nothing{seen}. A rank cannot know that the one before it is done unless it is told. A sleep only
guesses how long the others take.

passed-on-too-early 2
Rank {late} begins its action {early} ms before rank {rank} is done with its own, although rank {rank} sends it a
message. At which moment is it this rank's turn to pass the word on?

out-of-turn 2
Rank {late} begins its action {early} ms before rank {rank} is done with its own. What does rank {late} wait for?

result-lost 1
Rank {rank} of {size} should return what its own `action` returned, which is {expected:.0f}. It returns {actual}.
""")


class InTurn(CallCheck, JudgedCalls):
    """One action after another, by a word passed from rank to rank."""

    todo, points = "in_turn", 2
    prices = MappingProxyType(
        {"message-not-received": 2, "world-not-comm": 2, "not-waited-for": 1, "message-too-large": 0.5}
    )
    consolidation = (
        "A receive is also a way to wait: rank r + 1 goes on when rank r says so, and no rank keeps the others "
        "waiting. The program itself, not the clock, decides who is next."
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """All ranks, some in another order, two and one; rank 0 late. On plain communicators, and with long results on
        safe ones."""

        def case(ranks: list[int], *kinds: bool) -> dict:
            calls = [{"safe": kind, "results": [rng.randint(10, 99) for _ in ranks]} for kind in kinds]
            return {"ranks": ranks, "calls": calls, "late": 0}

        cases = [case([0, 1, 2, 3], False, True), case([2, 0, 3], True, False), case([1, 3], True), case([2], True)]
        ### BEGIN HIDDEN CASES
        cases += [case([3, 1, 0, 2], True, True), case([0, 3, 1], False)]
        ### END HIDDEN CASES
        return cases

    @staticmethod
    def call(function: Callable, rank: Rank, call: dict) -> dict:
        """When the action ran, and what came back."""
        times, last = [], rank.rank == rank.size - 1

        def action() -> int:
            began = time.time()
            time.sleep(0 if last else LASTS)
            times.append({"start": began, "end": time.time()})
            result = call["results"][rank.rank]
            return [result] * LONG if call["safe"] else result

        value = function(safe(rank.comm) if call["safe"] else rank.comm, action)
        if call["safe"] and isinstance(value, list) and len(value) == LONG and len({*map(repr, value)}) == 1:
            value = value[0]
        return {"actions": times[:9], "value": described(value), "none": value is None}

    def shape(self, case: dict, call: dict) -> dict[str, dict]:
        """Begin and end of each action in seconds."""
        return {"actions": array(record(start=number(), end=number())), "value": described_value(), "none": boolean()}

    def unfinished(self, case: dict, run: Run) -> Iterable[Finding]:
        """Who waits for whom."""
        return stuck(run)

    def judge(self, case: dict, call: Call) -> list[Finding]:
        """Each action once, in turn, by as few messages as that takes, and its result on its own rank."""
        size, times = call.size, call.of("actions")
        wrong = next((rank for rank in range(size) if len(times[rank]) != 1), None)
        if wrong is not None:
            return [finding("action-not-once", rank=wrong, size=size, n=len(times[wrong]))]
        if found := self.turns(call):
            return found
        found = self.results(call)
        if size == 1:
            return found
        chain = {(rank, rank + 1) for rank in range(size - 1)}
        found += other_messages(call.events, chain, "a rank and the next one")
        return found + too_large(traffic(call.events), TOKEN, 'It has nothing to say but "your turn".')

    def turns(self, call: Call) -> list[Finding]:
        """Whether each rank's action begins when the one before it has ended."""
        spans = [of_rank[0] for of_rank in call.of("actions")]
        early = [before["end"] - after["start"] for before, after in pairwise(spans)]
        rank = next((rank for rank, seconds in enumerate(early) if seconds > CLOCKS), None)
        events = [event for log in call.events for event in log]
        if call.size > 1 and not events:
            seen = "" if rank is None else f", and rank {rank + 1} begins before rank {rank} is done"
            return [finding("nobody-waits", seen=seen)]
        if rank is None:
            return []
        told = any(event["kind"] in ("send", "sendrecv") and event["peer"] == rank + 1 for event in call.events[rank])
        key = "passed-on-too-early" if told else "out-of-turn"
        return [finding(key, rank=rank, late=rank + 1, early=round(1000 * early[rank]))]

    def results(self, call: Call) -> list[Finding]:
        """Whether each rank returns what its own action gave."""
        for rank, (value, expected) in enumerate(zip(call.of("value"), call.plan["results"], strict=True)):
            if value["value"] != expected:
                actual = (
                    "None" if call.of("none")[rank] else value["value"] if value["value"] is not None else value["type"]
                )
                return [finding("result-lost", rank=rank, size=call.size, expected=expected, actual=actual)]
        return []


CHECK = InTurn()
