"""The check of `pipeline_schedule`."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

from autograde.contract.findings import Findings
from autograde.contract.rank_check import CallCheck, Rank
from autograde.contract.schema import array, boolean, optional, string
from autograde.contract.verdict import Finding
from autograde.verdicts.judged import Call, JudgedCalls

from .plans import MOST, OTHER, shown_plan

finding = Findings("""
no-plan 3
What the function returns is no list with a list for each of {stages} stages.

other-entry 2
With {stages} stages and {micro} micro-batches, the row of stage {stage} has an entry that is neither ("F", i) nor
("B", i), for a micro-batch i from 0 to {last}, nor None.

rows-differ-in-length 1
With {stages} stages and {micro} micro-batches, the rows have {lengths} entries. All of them run through the same ticks.

pass-left-out 2
With {stages} stages and {micro} micro-batches, stage {stage} never makes {what}.

pass-made-twice 1.5
With {stages} stages and {micro} micro-batches, stage {stage} makes {what} {times} times.

forward-too-early 2
With {stages} stages and {micro} micro-batches, stage {stage} makes {what} in tick {tick}, and the stage before it in
tick {other}. Its input is not there yet.

backward-too-early 2
With {stages} stages and {micro} micro-batches, stage {stage} makes {what} in tick {tick}, and the stage behind it in
tick {other}. Where do gradients come from?

backward-before-forward 2
With {stages} stages and {micro} micro-batches, the last stage makes {what} in tick {tick}, and its forward pass in tick
{other}. There is no loss yet.

one-pass-at-a-time 1.5
With {stages} stages and {micro} micro-batches, the plan has {actual} ticks: in each of them a single stage works, and
the others wait. {least} are enough. What can stage 0 do, while stage 1 works?

too-many-ticks 1.5
With {stages} stages and {micro} micro-batches, the plan has {actual} ticks, where {least} are enough.
""")


class PipelineSchedule(CallCheck, JudgedCalls):
    """Any plan that keeps the rules, and is as short as can be."""

    todo, points = "pipeline_schedule", 3
    consolidation = (
        "Each stage idles for as many ticks as it takes to fill and empty the pipeline: (p - 1) of every (M + p - 1). "
        "Plans of one length differ in how many activations they keep."
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """Few and many micro-batches on 1 to 6 stages."""
        sizes = [(2, 2), (4, rng.randrange(5, 9)), (3, 1), (1, rng.randrange(2, 5)), (6, rng.randrange(3, 6))]
        return [{"size": 1, "calls": [{"stages": stages, "micro": micro} for stages, micro in sizes]}]

    @staticmethod
    def call(function: Callable, rank: Rank, call: dict) -> dict:
        """The plan."""
        plan = shown_plan(function(call["stages"], call["micro"]))
        return {"listed": plan is not None, "plan": plan or []}

    def shape(self, case: dict, call: dict) -> dict[str, dict]:
        """Rows of passes."""
        return {"listed": boolean(), "plan": array(array(optional(string()), most=MOST), most=MOST)}

    def judge(self, case: dict, call: Call) -> list[Finding]:
        """The first rules that are broken, and the number of ticks."""
        stages, micro, shown = call.plan["stages"], call.plan["micro"], call.shown[0]
        about, rows = {"stages": stages, "micro": micro, "last": micro - 1}, shown["plan"]
        if not shown["listed"] or len(rows) != stages:
            return [finding("no-plan", **about)]
        found, lengths = not_once(rows, micro, about), [len(row) for row in rows]
        if not found or found[0].key == "other-entry":
            ticks = [{each: tick for tick, each in enumerate(row) if each} for row in rows]
            found += broken_rules(ticks, micro, about)
        if len({*lengths}) > 1:
            shown = ", ".join(map(str, lengths))
            return found or [finding("rows-differ-in-length", lengths=shown, **about)]
        least, actual = 2 * (stages + micro - 1), lengths[0]
        if actual == least or (found and actual < least):  # passes that are not made take no ticks
            return found
        key = "one-pass-at-a-time" if actual >= 2 * stages * micro else "too-many-ticks"
        return [*found, finding(key, actual=actual, least=least, **about)]


def not_once(rows: list[list], micro: int, about: dict) -> list[Finding]:
    """A finding if a row has other entries than each pass once."""
    due = [f"{kind}{number}" for kind in "FB" for number in range(micro)]
    for stage, row in enumerate(rows):
        times = Counter(each for each in row if each)
        if OTHER in times or times.keys() - {*due}:
            return [finding("other-entry", stage=stage, **about)]
        if missing := [each for each in due if not times[each]]:
            return [finding("pass-left-out", stage=stage, what=in_words(missing[0]), **about)]
        if twice := [each for each in due if times[each] > 1]:
            return [finding("pass-made-twice", stage=stage, what=in_words(twice[0]), times=times[twice[0]], **about)]
    return []


def broken_rules(ticks: list[dict[str, int]], micro: int, about: dict) -> list[Finding]:
    """Findings for passes that come before what they need, one of each kind. ticks: of each pass there is, by stage."""
    found: dict[str, Finding] = {}
    last = len(ticks) - 1
    for stage, own in enumerate(ticks):
        for number in range(micro):
            forward, backward = f"F{number}", f"B{number}"
            rules = []
            if stage > 0:
                rules.append(("forward-too-early", forward, ticks[stage - 1].get(forward)))
            if stage < last:
                rules.append(("backward-too-early", backward, ticks[stage + 1].get(backward)))
            else:
                rules.append(("backward-before-forward", backward, own.get(forward)))
            for key, what, other in rules:
                if what in own and other is not None and own[what] <= other and key not in found:
                    seen = {"stage": stage, "what": in_words(what), "tick": own[what], "other": other}
                    found[key] = finding(key, **seen, **about)
    return [*found.values()]


def in_words(entry: str) -> str:
    """A pass as a plan has it."""
    return f'("{entry[0]}", {entry[1:]})'


CHECK = PipelineSchedule()
