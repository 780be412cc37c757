"""The check of `ParallelMLP`."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import torch

from autograde.contract.findings import Findings
from autograde.contract.rank_check import CallCheck, Rank
from autograde.contract.schema import array, boolean, integer, record, string
from autograde.contract.verdict import Diagnosis, Finding
from autograde.verdicts.collectives import named, only
from autograde.verdicts.diagnosis import diagnose
from autograde.verdicts.judged import Call, JudgedCalls, Run
from course.watch.recorder import unwatched

from .groups import own_group
from .judged_tensors import close, counted, flat, members_of, not_tensors, stuck_in_group, tensor_schema, wrong_members
from .judged_tensors import finding as of_tensors
from .mlps import apart, held, mlp_of, usable
from .split_mlp import NAMES, SplitMLP
from .split_parameters import built
from .stand_ins import stand_ins
from .tensors import by_luck, drawn, shown

finding = Findings("""
too-few-shares 1.5
With {h} hidden units on {size} ranks, an index is out of range on {who}: the units were cut into too few parts. Which
function always gives as many as you ask for?

cut-in-another-dimension 2
On rank {rank} your code stops with an error: {error}. The hidden units are rows of the first matrix. What are they in
the second one, which is [o, h]?

rank-of-another-group 2
In the group of ranks 0 and {last}, an index is out of range on rank {last}: in this group it is number 1. Which rank,
and of which group, does your code ask for?

mlp-changed 1.5
After `ParallelMLP(mlp)`, or a pass through it, `mlp` is not what it was: its numbers, or its gradients.

part-not-summed 2
The output on each rank is what its own hidden units give. Where do the other ranks' parts come in?

bias-on-every-rank 2
In the output `b2` is there {size} times: once for each rank. Before the sum, or after it?

bias-left-out 2
The output lacks `b2`.

activation-at-the-end 2
The activation comes after the second matrix. Which numbers does `mlp` put through it?

activation-left-out 2
The output is that of `mlp` without its activation.

average-of-parts 2
The parts of the ranks are averaged. Each hidden unit is on one rank alone.

output-differs 2
The output on rank {rank} is not that of `mlp`.

gradient-of-x-own-part 2
The output is right. But the gradient of x is, on each rank, what comes back through its own units alone, and no error
tells you.

gradient-of-x-average 2
The output is right. But the gradient of x is {size} times too small: the ranks' parts are averaged going back.

gradients-times-ranks 2
The output is right. But gradients are {size} times too large: going back, equal parts of the ranks are summed.

bias-gradient-divided 2
The output is right. But the gradient of `b2` is {size} times too small: each step would move it less than expected.

bias-on-one-rank 2
The output is right. But `b2` gets its gradient on one rank only. After a step, the ranks have different ones.

gradient-differs 2
The output is right. But on rank {rank} the gradient of `{name}` is not that of one process.

output-without-graph 2
The output has no graph behind it, so no gradient gets back.

other-passes 1.5
In the {way} pass, each rank calls {ops}. One all-reduce does it.

other-sizes-reduced 1
In the {way} pass the all-reduce carries {actual} bytes a rank; the {what} has {expected}.
""")


MOST = 20  # sums of a pass that are told


class ParallelMLP(CallCheck, JudgedCalls):
    """An MLP built, and used forward and backward, beside one in one process."""

    todo, points, needs, deadline = "ParallelMLP", 4, "torch", 8.0
    consolidation = (
        "Cut by hidden units, two matrices need one sum forward and one backward, however large the hidden layer is. "
        "What every rank adds the same, like `b2`, belongs behind the sum."
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """A part is built, used forward, and then backward; hidden units that ranks share unequally."""

        def case(size: int, h: int, ends: bool = False, wide: bool = False, leaf: bool = True) -> dict:
            d, o = rng.randrange(2, 5), rng.randrange(5, 7)
            x = [rng.randrange(2, 4), 2, d] if wide else [rng.randrange(2, 5), d]
            plan = {"sizes": [d, h, o], "x": x, "seed": rng.randrange(10**6), "ends": ends, "leaf": leaf}
            plan |= {"activation": rng.choice(["gelu", "tanh"] if not wide else ["sigmoid"])}
            plan |= {"layout": "transposed" if wide else "plain"}
            ways = ("construct", "forward", "backward")
            return {"size": size, "ends": ends, "calls": [plan | {"way": way} for way in ways]}

        cases = [case(4, 10), case(4, 9, wide=True), case(4, 5, leaf=False), case(4, 8, ends=True), case(1, 3)]
        return cases

    @staticmethod
    def given(rank: Rank, case: dict) -> Mapping[str, Any]:
        """f and g."""
        rank.notes["sums"] = []
        return stand_ins(rank.notes["sums"])

    @staticmethod
    def call(function: Callable, rank: Rank, call: dict) -> dict:
        """Runs on each rank: the module is built, or used in one direction."""
        present, group = own_group(rank, call["ends"])
        seen = {"parameters": [], "held": 0, "kept": True, "value": shown(None), "graph": False, "warned": False}
        seen |= {"fits": True, "apart": True, "sums": []}
        notes, size = rank.notes, 2 if call["ends"] else rank.size
        if call["way"] == "forward":  # where a part cannot be used, nobody may wait for its rank
            notes["fits"] = all(unwatched(type(rank.comm).allgather)(rank.comm, notes.get("fits", True)))
        if not present:
            return seen
        notes["sums"].clear()
        with by_luck(seen):
            if call["way"] == "construct":
                notes["mlp"] = mlp_of(call).to(rank.torch_device)
                notes["part"] = function(notes["mlp"], *group)
                notes["fits"] = usable(notes["part"], call, (rank.rank > 0 if call["ends"] else rank.rank), size)
            if call["way"] == "construct" or not notes["fits"]:
                seen |= {"held": held(notes["part"]), "fits": notes["fits"]}
                seen["apart"] = apart(notes["part"], notes["mlp"])
                seen["parameters"] = [{"name": name, **shown(each)} for name, each in notes["part"].named_parameters()]
            elif call["way"] == "forward":
                x = drawn(call["seed"] + 50, call["x"], call["layout"]).to(rank.torch_device)
                notes["x"] = x.requires_grad_(call["leaf"])
                given = x.view_as(x) if call["leaf"] else x
                notes["y"] = y = notes["part"](rank.argument("x", given))
                seen |= {"value": shown(y), "graph": getattr(y, "grad_fn", None) is not None}
            elif getattr(notes["y"], "grad_fn", None) is not None:
                y = notes["y"]
                y.backward(drawn(call["seed"] + 60, [*y.shape]).to(rank.torch_device))
                seen |= {"graph": True, "value": shown(notes["x"].grad)}
                gradients = [(name, each.grad) for name, each in notes["part"].named_parameters()]
                seen["parameters"] = [{"name": name, **shown(each)} for name, each in gradients]
        before = [*mlp_of(call).parameters()]
        now = [*notes["mlp"].parameters()]
        same = all(torch.equal(a.cpu(), b) and a.grad is None for a, b in zip(now, before, strict=True))
        seen["sums"] = notes["sums"][:MOST]
        return seen | {"kept": len(now) == len(before) and same}

    def shape(self, case: dict, call: dict) -> dict[str, dict]:
        """The parameters or their gradients; the output or the gradient of x."""
        named_tensor = record(name=string(), **tensor_schema()["properties"])
        flags = {name: boolean() for name in ("kept", "graph", "warned", "fits", "apart")}
        return {
            "parameters": array(named_tensor, most=50),
            "held": integer(0),
            "value": tensor_schema(),
            "sums": array(integer(0), most=MOST),
            **flags,
        }

    def unfinished(self, case: dict, run: Run) -> Iterable[Finding]:
        """Ranks that wait for others, or got no hidden units."""
        found = {rank["rank"]: rank["error"] for rank in run.ranks if (rank["error"] or {}).get("type") == "IndexError"}
        errors = [*found]
        h, size = case["calls"][0]["sizes"][1], len(members_of(case))
        if run.state == "raised" and errors and run.reached == 0 and errors[0] > 0:
            if "out of bounds for dimension" in (text := found[errors[0]]["message"]):
                return [finding("cut-in-another-dimension", run.report, rank=errors[0], error=text[:200])]
            if case["ends"]:
                return [finding("rank-of-another-group", last=errors[0])]
            return [finding("too-few-shares", h=h, size=size, who=f"rank {errors[0]}")]
        return stuck_in_group(case, run)

    def verdict(self, case: dict, evidence: dict) -> list[Finding | Diagnosis]:
        """A mistake is told once: no numbers that come of other parameters, no gradients of another output."""
        found = super().verdict(case, evidence)
        wrong = {each.key for each in found if isinstance(each, Finding)}
        wrong |= {each.subject for each in found if isinstance(each, Diagnosis) and each.otherwise}
        follow = ("output", "gradient") if "other-units" in wrong else ("gradient",) if "output" in wrong else ()
        return [each for each in found if not (isinstance(each, Diagnosis) and each.subject in follow)]

    def judge(self, case: dict, call: Call) -> list[Finding | Diagnosis]:
        """What was built, or computed; then what was communicated."""
        ranks, way = members_of(case), call.plan["way"]
        results, logs = [call.shown[rank] for rank in ranks], [call.events[rank] for rank in ranks]
        logs = [with_sums(log, each["sums"]) for log, each in zip(logs, results, strict=True)]
        if found := wrong_members(case, logs):
            return found
        found = [*only("torch", logs)]
        if any(each["warned"] for each in results):
            found.append(of_tensors("gradient-by-luck"))
        if not all(each["kept"] for each in results):
            found.append(finding("mlp-changed"))
        right = SplitMLP(call.plan, len(ranks))
        if way == "construct":
            return found + built(right, results, ranks)
        if not all(each["fits"] for each in results):
            return found + (built(right, results, ranks) or [finding("output-differs", rank=ranks[0])])
        if not all(each["graph"] for each in results):
            return [*found, finding("output-without-graph")]
        values = [each["value"] for each in results]
        if way == "forward":
            if other := not_tensors(values, [right.y.shape] * len(ranks), ranks):
                return found + other
            numbers = forward(right, values, ranks)
        else:
            numbers = backward(right, results, ranks)
        fine = numbers.otherwise is None and not found
        return [*found, numbers, *(passes(right, way, logs) if fine and len(ranks) > 1 else [])]


def with_sums(log: list[dict], sums: list[int]) -> list[dict]:
    """The events of a rank, with one all-reduce of so many bytes for each sum that the check's own f and g made."""
    gathered = [event for event in log if "object" in event["op"]][: len(sums)]
    reduced = zip(gathered, sums, strict=False)
    sent = {id(event): event | {"kind": "allreduce", "op": "all_reduce", "bytes": size} for event, size in reduced}
    return [sent.get(id(event), event) for event in log]


def forward(right: SplitMLP, values: list[dict], ranks: list[int]) -> Diagnosis:
    """The outputs against those of known mistakes."""
    actual, expected = [each["values"] for each in values], [flat(right.y)] * len(ranks)
    wrong = [rank for rank, own in zip(ranks, actual, strict=True) if not close(own, expected[0])]
    about = partial(finding, size=len(ranks))
    otherwise = finding("output-differs", rank=[*wrong, 0][0])
    mistakes = right.outputs() if len(ranks) > 1 else {}
    return diagnose("output", actual, expected, mistakes, about, otherwise, close)


def backward(right: SplitMLP, results: list[dict], ranks: list[int]) -> Diagnosis:
    """The gradients of x and of all parameters against those of known mistakes."""
    names = (*NAMES, *(["x"] if right.plan["leaf"] else []))

    def in_order(gradients: list[dict]) -> list[list]:
        return [[own.get(name, []) for name in names] for own in gradients]

    actual = [
        {"x": own["value"]["values"], **{each["name"]: each["values"] for each in own["parameters"]}} for own in results
    ]
    due, other = right.all_gradients(), ("w1", 0)
    for place, (seen, expected) in enumerate(zip(actual, due, strict=True)):
        for name in names:
            if other == ("w1", 0) and not close(seen.get(name), expected[name]):
                other = name, ranks[place]
    otherwise = finding("gradient-differs", name=other[0], rank=other[1])
    mistakes = {key: in_order(each) for key, each in right.gradient_mistakes().items()} if len(ranks) > 1 else {}
    about = partial(finding, size=len(ranks))
    return diagnose("gradient", in_order(actual), in_order(due), mistakes, about, otherwise, close)


def passes(right: SplitMLP, way: str, logs: list[list[dict]]) -> list[Finding]:
    """What is wrong with the calls of one pass, whose numbers are right."""
    calls, tensor = counted(logs), right.y if way == "forward" else right.x
    if way == "backward" and not right.plan["leaf"] and not calls:
        return []
    if [each["kind"] for each in calls] != ["allreduce"]:
        return [finding("other-passes", way=way, ops=named(calls) or "nothing")]
    expected, actual = 8 * tensor.numel(), calls[0]["bytes"] or 0
    if actual == expected:
        return []
    what = "output" if way == "forward" else "input"
    return [finding("other-sizes-reduced", way=way, what=what, actual=actual, expected=expected)]


CHECK = ParallelMLP()
