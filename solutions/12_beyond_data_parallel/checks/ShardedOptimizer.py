"""The check of `ShardedOptimizer`."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable
from functools import partial

import torch

from autograde.contract.findings import Findings
from autograde.contract.rank_check import CallCheck, Rank
from autograde.contract.schema import array, boolean, integer, record
from autograde.contract.verdict import Diagnosis, Finding
from autograde.verdicts.collectives import named, only
from autograde.verdicts.diagnosis import diagnose
from autograde.verdicts.judged import Call, JudgedCalls, Run

from .judged_tensors import close, counted, flat, not_tensors, tensor_schema
from .one_optimizer import OneOptimizer
from .sharded import MOST, Making, gradients_of, parameters_of
from .tensors import shown

STEPS = 3
EXHAUSTED = re.compile("non-empty list|non-empty TensorList|StopIteration")  # errors where nothing is left
OF_SIZES = re.compile("size|shape|split|divisible|length|dimension|elements")  # errors where shares do not fit
PARTS = {"reduce_scatter", "allgather"}

finding = Findings("""
made-not-once 1.5
On rank {rank}, when `ShardedOptimizer` is set up, `make` is called {times} times; once is asked for.

optimizer-made-anew 2
On rank {rank}, `make` is called in `step()`. An optimizer made anew knows nothing of the steps before: what becomes of
the momentum?

made-for-many-tensors 1.5
On rank {rank} `make` gets a list of {count} tensors. One is asked for: this rank's share of the row.

state-for-everything 2
On rank {rank} `make` gets all {count} numbers. Then each rank keeps all that the optimizer keeps, and nothing is saved.

share-of-other-length 1.5
On rank {rank} of {size}, `make` gets {actual} numbers of {count}; expected are {expected}, on all ranks.

share-of-other-numbers 2
On rank {rank} of {size}, `make` gets as many numbers as it should, but not entries {first} to {last} of the row with
zeros behind it.

share-is-a-view 1.5
On rank {rank} `make` gets {needed} bytes of numbers, and behind them are {actual} bytes of memory. Who still holds the
whole row?

only-equal-shares 2
With {count} numbers on {size} ranks your code stops with an error: {error}. Shares have to be equally long. How is the
row filled up?

iterable-gone-through 4
Your code stops with an error: {error}. `parameters` is an iterable, as `model.parameters()` is: it can be gone through
once. What is left of it the second time?

missing-gradient 1.5
Where a parameter has no gradient your code stops with an error: {error}. Such a gradient counts as zeros.

gradients-moved-up 2
With {optimizer}, where a parameter has no gradient, those behind it in the row are taken for other parameters. Such a
gradient counts as zeros: where do they stand in the row?

sum-for-the-mean 2
With {optimizer} the parameters are those of a step with the *sum* of the ranks' gradients. (Adam hides that: it divides
by the size of gradients.)

averaged-over-ranks-twice 2
With {optimizer} the parameters are those of a step with the mean gradient, divided by the ranks once more.

momentum-starts-anew 2
With {optimizer} the first step is right, and later ones are as if there had been none before. What does the optimizer
know of earlier steps?

gradients-kept 2
With {optimizer} the first step is right, and later ones are made with the sum of all mean gradients so far. What is in
the share's `.grad` when the next one comes?

own-gradients 2
With {optimizer} each share is updated with the gradients of its own rank alone. Those of the others are missing.

shares-not-gathered 2
With {optimizer} each rank updates its own share, and keeps the old values of all others. How do the ranks get each
other's shares?

no-step-made 3
With {optimizer} the parameters are what they were before.

parameters-differ 2
With {optimizer}, parameter {number} on rank {rank} is not what it is after one process' step number {step}.

bits-of-parameters-differ 1
After a step the parameters of the ranks differ in their last bits. Each number should come from one rank.

parameters-in-other-memory 1.5
After a step a parameter on rank {rank} has other memory than before. Whoever holds a view of it looks at old values:
fill the tensors that are there.

gradients-changed 1
After a step the gradients on rank {rank} are not what they were.

sharded-setup-communicates 1
When it is set up, your class calls {ops}. All ranks have the same parameters already.

all-reduce-and-cut 1.5
The numbers are right. But the ranks call {ops}: each of them gets the mean of all gradients, and needs that of its
share.

other-collectives-in-step 1
The numbers are right. But in a step each rank calls {ops}. One reduce-scatter and one all-gather do it.
""")


class ShardedOptimizer(CallCheck, JudgedCalls):
    """Three steps with each optimizer, beside one process; numbers of parameters that ranks share unequally."""

    todo, points, needs, deadline = "ShardedOptimizer", 4, "torch", 8.0
    consolidation = (
        "Cut in two, the all-reduce of data parallel training leaves room between its halves. There each rank updates "
        "a share, and keeps what the optimizer keeps of that share alone."
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """8 numbers first, which four ranks share equally; then others, with gradients that are missing."""

        def case(size: int, optimizer: str, shapes: list[list[int]], missing: tuple = (), transposed: int = -1) -> dict:
            plan = {"optimizer": optimizer, "shapes": shapes, "missing": [[*each] for each in missing]}
            plan |= {"transposed": transposed, "seed": rng.randrange(10**6)}
            return {"size": size, "calls": [plan | {"step": step} for step in range(-1, STEPS)]}

        momentum, adamw = "SGD with momentum", "AdamW"
        cases = [
            case(4, momentum, [[2, 3], [2]]),
            case(4, adamw, [[4, 5], [3]], transposed=0),
            case(4, adamw, [[3, 2], [], [1]], missing=[(-1, 0), (2, 1)]),
            case(4, momentum, [[1, 2]]),
            case(1, adamw, [[2, 2], [3]]),
        ]
        ### BEGIN HIDDEN CASES
        cases += [case(3, momentum, [[3], [4, 5]], missing=[(0, 0)], transposed=1), case(2, adamw, [[5], [2, 1]])]
        ### END HIDDEN CASES
        return cases

    @staticmethod
    def call(function: Callable, rank: Rank, call: dict) -> dict:
        """Runs on each rank: the optimizer is set up, or makes a step."""
        notes, step = rank.notes, call["step"]
        seen = {"steady": True, "kept": True}
        if step < 0:
            notes["parameters"] = [each.to(rank.torch_device) for each in parameters_of(call)]
            if rank.device != "cpu":
                notes["parameters"] = [torch.nn.Parameter(each.detach()) for each in notes["parameters"]]
            notes["make"] = Making(call["optimizer"])
            notes["optimizer"] = function(iter(notes["parameters"]), notes["make"])
        else:
            parameters = notes["parameters"]
            gradients = [
                each if each is None else each.to(rank.torch_device) for each in gradients_of(call, step, rank.rank)
            ]
            for parameter, gradient in zip(parameters, gradients, strict=True):
                parameter.grad = None if gradient is None else gradient.clone()
            places = [each.data_ptr() for each in parameters]
            notes["optimizer"].step()
            seen["steady"] = places == [each.data_ptr() for each in parameters]
            seen["kept"] = all(
                (each.grad is None or not each.grad.any())
                if gradient is None
                else each.grad is not None and torch.equal(each.grad, gradient)
                for each, gradient in zip(parameters, gradients, strict=True)
            )
        values = [shown(each) for each in notes["parameters"]]
        return {**seen, "parameters": values, "made": notes["make"].notes}

    def shape(self, case: dict, call: dict) -> dict[str, dict]:
        """All parameters, and what `make` was given."""
        note = record(tensors=integer(0), first=tensor_schema(), memory=integer(0))
        values = array(tensor_schema(), len(call["shapes"]))
        return {"parameters": values, "made": array(note, most=MOST), "steady": boolean(), "kept": boolean()}

    def unfinished(self, case: dict, run: Run) -> Iterable[Finding]:
        """An error where shares are not equal, or a gradient is missing."""
        plan, size = case["calls"][0], case["size"]
        errors = [rank["error"] for rank in run.ranks if rank["error"]]
        count = OneOptimizer(plan, size).count
        if run.state != "raised" or not errors:
            return []
        text = f"{errors[0]['type']}: {errors[0]['message'][:200]}".rstrip(".")
        if EXHAUSTED.search(text):
            return [finding("iterable-gone-through", run.report, error=text)]
        if plan["missing"] and run.reached > 0 and "None" in text:
            return [finding("missing-gradient", run.report, error=text)]
        if count % size and OF_SIZES.search(text):
            return [finding("only-equal-shares", run.report, error=text, count=count, size=size)]
        return []

    def judge(self, case: dict, call: Call) -> list[Finding | Diagnosis]:
        """What was made; the parameters after each step; what was communicated."""
        one, step, calls = OneOptimizer(call.plan, call.size), call.plan["step"], counted(call.events)
        found = [*only("torch", call.events)]
        if step < 0:
            if calls and not found:
                found.append(finding("sharded-setup-communicates", ops=named(calls)))
            return [*found, *made(one, call), self.numbers(one, call)]
        if anew := [rank for rank, own in enumerate(call.of("made")) if len(own) > 1]:
            found.append(finding("optimizer-made-anew", rank=anew[0]))
        for key, name in ("parameters-in-other-memory", "steady"), ("gradients-changed", "kept"):
            if ranks := [rank for rank, fine in enumerate(call.of(name)) if not fine]:
                found.append(finding(key, rank=ranks[0]))
        shapes = call.plan["shapes"]
        for rank, own in enumerate(call.of("parameters")):
            if other := not_tensors(own, shapes, [rank] * len(shapes)):
                return found + other
        numbers = self.numbers(one, call)
        if numbers.otherwise is not None:
            return [*found, numbers]
        if any(own != call.shown[0]["parameters"] for own in call.of("parameters")):
            found.append(finding("bits-of-parameters-differ"))
        return [*found, numbers, *(communicated(calls) if call.size > 1 else [])]

    def numbers(self, one: OneOptimizer, call: Call) -> Diagnosis:
        """The parameters of all ranks against those of known mistakes."""
        steps = call.plan["step"] + 1
        actual = [[number for each in own for number in each["values"]] for own in call.of("parameters")]
        expected = one.expected(steps)
        rank = next((rank for rank, own in enumerate(actual) if not close(own, expected[rank])), 0)
        values, place = call.shown[rank]["parameters"], 0
        for place, each in enumerate(values):
            start = sum(len(before["values"]) for before in values[:place])
            if not close(each["values"], expected[rank][start : start + len(each["values"])]):
                break
        about = partial(finding, optimizer=call.plan["optimizer"], rank=rank, number=place, step=steps)
        mistakes = one.mistakes(steps) if call.size > 1 and steps else {}
        return diagnose("parameters", actual, expected, mistakes, about, "parameters-differ", close)


def made(one: OneOptimizer, call: Call) -> list[Finding]:
    """What is wrong with what `make` was given: the first thing that is."""
    for rank, notes in enumerate(call.of("made")):
        about = {"rank": rank, "size": call.size, "count": one.count}
        if len(notes) != 1:
            return [finding("made-not-once", times=len(notes), **about)]
        note, due = notes[0], one.share(rank)
        first = note["first"]
        if note["tensors"] != 1:
            return [finding("made-for-many-tensors", rank=rank, count=note["tensors"])]
        if first["kind"] != "float64":
            return not_tensors([first], [[len(due)]], [rank])
        if first["shape"] != [len(due)]:
            if len(first["values"]) >= one.count and call.size > 1 and one.count > len(due):
                return [finding("state-for-everything", **about)]
            return [finding("share-of-other-length", actual=len(first["values"]), expected=len(due), **about)]
        if not close(first["values"], flat(due)):
            start = rank * one.length
            return [finding("share-of-other-numbers", first=start, last=start + one.length - 1, **about)]
        needed = due.numel() * due.element_size()
        if note["memory"] > needed:
            return [finding("share-is-a-view", needed=needed, actual=note["memory"], **about)]
    return []


def communicated(calls: list[dict]) -> list[Finding]:
    """What is wrong with the collectives of a step, whose numbers are right."""
    kinds = [each["kind"] for each in calls]
    if sorted(kinds) == sorted(PARTS):
        return []
    if "allreduce" in kinds:
        return [finding("all-reduce-and-cut", ops=named(calls))]
    return [finding("other-collectives-in-step", ops=named(calls) or "nothing")]


CHECK = ShardedOptimizer()
