"""The check of `backward_passes`."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from types import MappingProxyType

from autograde.contract.findings import Findings
from autograde.contract.rank_check import CallCheck, Rank
from autograde.contract.schema import array
from autograde.contract.verdict import Diagnosis, Finding
from autograde.verdicts.diagnosis import diagnose
from autograde.verdicts.judged import Call, JudgedCalls, Run
from course.watch.notes import note_of
from course.world.report import name_ranks

from .judged_tensors import close, not_tensors, tensor_schema
from .neighbours import cannot_go_on, late, misdirected
from .stages import Stage, batch_of, losses_of
from .tensors import shown
from .whole_pipeline import WholePipeline, left_before

finding = Findings("""
backward-in-another-order 3
Rank {rank} goes back through the micro-batches in the order {order}. The others take what comes for the gradient of
micro-batch 0, then 1, and so on: nobody notices that gradients are mixed up, where their shapes are equal.

in-another-order-everywhere 1
All ranks go back through the micro-batches in the order {order}. So the gradients are right. But a neighbour that goes
in the order of the micro-batches would take one's gradient for another's.

gradients-zeroed 1.5
What was in `.grad` before the call is gone. `backward` adds; who sets to zero here?

averaged-once-more 2
The gradients are those of the mean loss, divided once more. The losses are parts of a mean already.

gradients-added-twice 2
The gradients of the mean loss are added twice.

nothing-left 3
The gradients of the parameters are what they were before the call.

nothing-left-on-some 3
On {who} the gradients are what they were before the call. What has to go back there, and to which tensors?

no-loss-begins 3
A deadlock: each rank waits for a gradient, and none begins with its losses. How does your code know that rank {rank} is
the last one of {size}?

first-gradient-each-time 2
What goes from rank to rank is the gradient of the first micro-batch's input each time.

ones-for-the-gradient 2
The gradients are those of the sum of each stage's own outputs: as if the gradient of each output were 1. What comes
from the rank behind, and what is it for?

gradients-as-they-came 2
Ranks before the last two get gradients that are not theirs: what came from behind is handed on as it is. Of which
tensor is the gradient that the rank before waits for?

stage-gradients-differ 2
On rank {rank} the gradients are not those that one process adds up: of the {which}, and maybe more.
""")


class BackwardPasses(CallCheck, JudgedCalls):
    """Right forward passes, made on each rank by itself; gradients that were there before."""

    todo, points, needs, deadline = "backward_passes", 3, "torch", 8.0
    prices = MappingProxyType({"collective-for-messages": 1.5, "other-messages": 1.5})
    consolidation = (
        "Each stage needs one gradient from behind, and gives one: autograd on each rank, joined by messages. Parts of "
        "a mean loss add up to its gradient by themselves."
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """Calls with 1 to 5 micro-batches on 1 to 4 ranks, of equal and unequal lengths."""

        def case(size: int, *plans: tuple[int, bool, bool]) -> dict:
            calls = []
            for count, column_major, equal in plans:
                rows = [3] * count if equal else [rng.randrange(2, 5) for _ in range(count - 1)] + [5]
                plan = {"rows": rows, "width": rng.randrange(3, 5), "seed": rng.randrange(10**6)}
                calls.append({**plan, "column_major": column_major, "before": int(rng.random() < 0.5)})
            calls[0]["before"] = 1
            return {"size": size, "calls": calls, "late": rng.randrange(size)}

        cases = [case(4, (4, False, True)), case(4, (5, True, False)), case(2, (1, False, False), (4, True, False))]
        cases += [case(1, (4, False, False))]
        ### BEGIN HIDDEN CASES
        cases += [case(3, (5, False, True), (1, True, False))]
        ### END HIDDEN CASES
        return cases

    @staticmethod
    def call(function: Callable, rank: Rank, call: dict) -> dict:
        """Runs on each rank: the gradients that a call leaves."""
        device = rank.torch_device
        inputs = [each.to(device) for each in batch_of(call)]
        for number in range(rank.rank):
            inputs = [Stage(call, number).to(device)(each).detach() for each in inputs]
        stage = Stage(call, rank.rank, rank.comm).to(device)
        if rank.rank:
            inputs = [each.contiguous().requires_grad_() for each in inputs]
        passes = [(each, stage(each)) for each in inputs]
        losses = losses_of(call, [y for _, y in passes]) if rank.rank == rank.size - 1 else None
        for each, before in zip(stage.parameters(), left_before(call, rank.rank), strict=True):
            each.grad = before.to(device) if call["before"] else None
        function(passes, losses)
        return {"gradients": [shown(each.grad) for each in stage.parameters()]}

    def shape(self, case: dict, call: dict) -> dict[str, dict]:
        """The gradients of weight and bias."""
        return {"gradients": array(tensor_schema(), 2)}

    def unfinished(self, case: dict, run: Run) -> Iterable[Finding]:
        """Gradients in another order, of which some cannot be received; tensors that cannot be sent."""
        logs = run.noted(run.reached)
        events = [event for log in logs for event in log]
        begun = any((note_of(event) or "").startswith("backward") or event["kind"] == "send" for event in events)
        if run.state == "hang" and not begun and {*map(kind_of_last, logs)} == {"recv"}:
            return [finding("no-loss-begins", run.report, rank=len(logs) - 1, size=len(logs))]
        return other_order(logs) or cannot_go_on(run)

    def judge(self, case: dict, call: Call) -> list[Finding | Diagnosis]:
        """The order and the gradients; then the messages."""
        plan, whole = call.plan, WholePipeline(call.plan, call.size)
        width = plan["width"]
        for rank, own in enumerate(call.of("gradients")):
            if all(each["kind"] == "None" for each in own):
                return [finding("nothing-left")]
            if other := not_tensors(own, [[width, width], [width]], [rank] * 2):
                return other
        actual = [[each["values"] for each in own] for own in call.of("gradients")]
        expected, mistakes = whole.expected(), whole.mistakes()
        wrong = [
            (rank, name)
            for rank, (own, due) in enumerate(zip(actual, expected, strict=True))
            for name, one, other in zip(("weight", "bias"), own, due, strict=True)
            if not close(one, other)
        ]
        rank, which = [*wrong, (0, "weight")][0]
        otherwise = finding("stage-gradients-differ", rank=rank, which=which)
        before = mistakes["nothing-left"]
        if still := [rank for rank, own in enumerate(actual) if close(own, before[rank])]:
            otherwise = finding("nothing-left-on-some", who=name_ranks(still))
        numbers = diagnose("gradients", actual, expected, mistakes, partial(finding), otherwise, close)
        if wrong:
            return other_order(call.noted) or [numbers]
        count = len(plan["rows"])
        messages = misdirected(call.events, "backward", count) or late(call.noted, "backward")
        orders = [*orders_of(call.noted).values()]
        if not messages and len(orders) == call.size and all(order == orders[0] for order in orders):
            told = finding("in-another-order-everywhere", order=", ".join(map(str, orders[0])))
            return [numbers, told]
        return [numbers, *messages]


def kind_of_last(log: Sequence[dict]) -> str:
    """The kind of a rank's last call."""
    return log[-1]["kind"] if log else ""


def other_order(logs: Sequence[Sequence[dict]]) -> list[Finding]:
    """A finding for a rank that does not go back through the micro-batches in their order."""
    for rank, order in orders_of(logs).items():
        return [finding("backward-in-another-order", rank=rank, order=", ".join(map(str, order)))]
    return []


def orders_of(logs: Sequence[Sequence[dict]]) -> dict[int, list[int]]:
    """The micro-batches as a rank goes back through them, by rank, where that is not their order."""
    orders = {}
    for rank, log in enumerate(logs):
        noted = [name.split() for name in map(note_of, log) if name]
        orders[rank] = [int(number) for way, number in noted if way == "backward"]
    return {rank: order for rank, order in orders.items() if order != sorted(order)}


CHECK = BackwardPasses()
