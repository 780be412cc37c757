"""The check of `forward_passes`."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from functools import partial
from types import MappingProxyType

import torch

from autograde.contract.findings import Findings
from autograde.contract.rank_check import CallCheck, Rank
from autograde.contract.schema import array, boolean, record
from autograde.contract.verdict import Diagnosis, Finding
from autograde.verdicts.diagnosis import diagnose
from autograde.verdicts.judged import Call, JudgedCalls, Run

from .judged_tensors import close, flat, not_tensors, tensor_schema
from .neighbours import cannot_go_on, late, misdirected
from .stages import Stage, batch_of
from .tensors import shown

finding = Findings("""
no-list-of-passes 2
On rank {rank} the function returns no list of {count} pairs (input, output), one for each micro-batch.

stage-passes 1
On rank {rank} the stage makes {actual} passes for {count} micro-batches.

own-input-used 2
From rank 1 on, inputs are nan: the values of rank {rank}'s own `micro_batches`. Only rank 0 has values. What should the
others work on?

stage-left-out 2
On rank 2 and behind it, inputs are what the stage before *got*, not what it gave.

inputs-differ 2
On rank {rank} the input of micro-batch {number} is not the output of the stage before it.

outputs-differ 2
On rank {rank} the output of micro-batch {number} is not what the stage gives for its input.

one-buffer-for-all 2
On rank {rank} several inputs are in one piece of memory. When the second one arrives, what does the graph of the first
pass still need?

input-without-gradient 1.5
On rank {rank} the input of a pass requires no gradient. Then there will be none to send back.

input-is-no-leaf 1
On rank {rank} the input of a pass is no leaf: its gradient is not kept in `.grad`.

output-has-no-graph 1.5
On rank {rank} the output that is returned has no graph behind it. What will `backward` begin with?

first-input-replaced 0.5
On rank 0 the input of a pass is not the tensor that was given.

given-tensors-changed 1
On rank {rank} the given micro-batches are not what they were: something is received into them, or their
`requires_grad` is another. Whoever gave them still needs them.
""")


class ForwardPasses(CallCheck, JudgedCalls):
    """Micro-batches of unequal lengths, through stages whose output is column-major, or not."""

    todo, points, needs, deadline = "forward_passes", 2, "torch", 8.0
    prices = MappingProxyType({"collective-for-messages": 1.5, "other-messages": 1.5})
    consolidation = (
        "A message ends one graph and begins another: what is sent is detached, and what is received is a leaf. Sent "
        "at once, it lets the next stage begin."
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """Calls with 1 to 5 micro-batches on 1 to 4 ranks."""

        def case(size: int, *plans: tuple[int, bool]) -> dict:
            calls = []
            for count, column_major in plans:
                rows = [rng.randrange(2, 5) for _ in range(count)]
                rows[-1] = rows[0] + 1 if count > 1 else rows[0]
                plan = {"rows": rows, "width": rng.randrange(3, 5), "seed": rng.randrange(10**6)}
                calls.append({**plan, "column_major": column_major})
            return {"size": size, "calls": calls, "late": rng.randrange(size)}

        cases = [case(4, (4, False)), case(4, (5, True)), case(2, (1, False), (4, True)), case(1, (4, False))]
        return cases

    @staticmethod
    def call(function: Callable, rank: Rank, call: dict) -> dict:
        """Runs on each rank: the passes of its stage."""
        stage = Stage(call, rank.rank, rank.comm).to(rank.torch_device)
        given = [each.to(rank.torch_device) for each in batch_of(call)]
        if rank.rank:
            given = [torch.full_like(each, float("nan")) for each in given]
        before = [each.nan_to_num(7.0) for each in given]
        passes = function(stage, [*given])
        kept = all(
            torch.equal(now.nan_to_num(7.0), each) and not now.requires_grad
            for now, each in zip(given, before, strict=True)
        )
        pairs = isinstance(passes, (list, tuple)) and len(passes) == len(given)
        pairs = pairs and all(
            isinstance(each, (list, tuple)) and len(each) == 2 and all(isinstance(one, torch.Tensor) for one in each)
            for each in passes
        )
        memory = {each.untyped_storage().data_ptr() for each, _ in passes} if pairs else set()
        seen = []
        for own, (x, y) in zip(given, passes if pairs else [], strict=False):
            flags = {"given": x is own, "requires": x.requires_grad, "leaf": x.is_leaf}
            seen.append({"input": shown(x), "output": shown(y), **flags, "graph": y.grad_fn is not None})
        return {"pairs": pairs, "passes": seen, "kept": kept, "apart": len(memory) == len(seen), "made": stage.passes}

    def shape(self, case: dict, call: dict) -> dict[str, dict]:
        """The tensors of each pass, and how they are bound together."""
        flags = {name: boolean() for name in ("given", "requires", "leaf", "graph")}
        one = record(input=tensor_schema(), output=tensor_schema(), **flags)
        return {
            "pairs": boolean(),
            "passes": array(one, most=len(call["rows"])),
            "kept": boolean(),
            "apart": boolean(),
            "made": {"type": "integer", "minimum": 0, "maximum": 10**6},
        }

    def unfinished(self, case: dict, run: Run) -> Iterable[Finding]:
        """Tensors that could not be sent, or received."""
        return cannot_go_on(run)

    def judge(self, case: dict, call: Call) -> list[Finding | Diagnosis]:
        """What came back, by rank; then the numbers, and the messages."""
        plan, count = call.plan, len(call.plan["rows"])
        inputs, found = inputs_of(plan, call.size), []
        for rank, own in enumerate(call.shown):
            if not own["pairs"] or len(own["passes"]) != count:
                return [finding("no-list-of-passes", rank=rank, count=count)]
            if own["made"] != count and not found:
                found.append(finding("stage-passes", rank=rank, actual=own["made"], count=count))
        found += bound_together(call)
        for rank, own in enumerate(call.shown):
            shapes = [each.shape for each in inputs[rank]] * 2
            values = [each[name] for name in ("input", "output") for each in own["passes"]]
            if other := not_tensors(values, shapes, [rank] * len(shapes)):
                return found + other
        numbers = self.numbers(call, inputs)
        wrong = any(each.otherwise is not None for each in numbers)
        shared = {each.key for each in found} & {"one-buffer-for-all", "given-tensors-changed"}
        if wrong and shared:  # they explain other numbers
            return found + [each for each in numbers if each.explained]
        traffic = [] if wrong else misdirected(call.events, "forward", count) or late(call.noted, "forward")
        return [*found, *numbers, *traffic]

    def numbers(self, call: Call, inputs: list[list[torch.Tensor]]) -> list[Diagnosis]:
        """Inputs and outputs against those of one process."""
        size = call.size
        actual = [[each["input"]["values"] for each in own["passes"]] for own in call.shown]
        outputs = [[each["output"]["values"] for each in own["passes"]] for own in call.shown]
        expected = [[flat(each) for each in own] for own in inputs[:size]]
        due = [[flat(each) for each in own] for own in inputs[1 : size + 1]]
        first, nothing = expected[0], [[None] * len(each) for each in expected[0]]

        def about(key: str) -> Finding:
            return finding(key, rank=1)

        mistakes = {"own-input-used": [first] + [nothing] * (size - 1), "stage-left-out": [first] * size}
        rank, number = first_other(actual, expected)
        otherwise = finding("inputs-differ", rank=rank, number=number)
        same = partial(equal_but_for_nan)
        found = [diagnose("inputs", actual, expected, mistakes if size > 1 else {}, about, otherwise, same)]
        if found[0].otherwise is None:
            rank, number = first_other(outputs, due)
            otherwise = finding("outputs-differ", rank=rank, number=number)
            found.append(diagnose("outputs", outputs, due, {}, about, otherwise, same))
        return found


def inputs_of(plan: dict, size: int) -> list[list[torch.Tensor]]:
    """The inputs of each stage, and behind them the outputs of the last one."""
    inputs = [batch_of(plan)]
    for rank in range(size):
        stage = Stage(plan, rank)
        inputs.append([stage(each).detach() for each in inputs[-1]])
    return inputs


def bound_together(call: Call) -> list[Finding]:
    """What is wrong with the passes besides their numbers: each thing once."""
    found: dict[str, Finding] = {}
    for rank, own in enumerate(call.shown):
        passes, behind = own["passes"], rank > 0
        wrong = {
            "given-tensors-changed": not own["kept"] or (behind and any(each["given"] for each in passes)),
            "one-buffer-for-all": not own["apart"],
            "first-input-replaced": not behind and not all(each["given"] for each in passes),
            "input-without-gradient": behind and not all(each["requires"] for each in passes),
            "input-is-no-leaf": behind and not all(each["leaf"] for each in passes),
            "output-has-no-graph": not all(each["graph"] for each in passes),
        }
        for key in (key for key, is_wrong in wrong.items() if is_wrong):
            found.setdefault(key, finding(key, rank=rank))
    return [*found.values()]


def equal_but_for_nan(actual: object, expected: object) -> bool:
    """`close`, where None is expected for nan."""
    if isinstance(expected, list):
        return (
            isinstance(actual, list) and len(actual) == len(expected) and all(map(equal_but_for_nan, actual, expected))
        )
    return actual is None if expected is None else close(actual, expected)


def first_other(actual: list, expected: list) -> tuple[int, int]:
    """Rank and micro-batch of the first tensor that is not what is expected; 0 and 0 if there is none."""
    for rank, own in enumerate(expected):
        for number, values in enumerate(own):
            if not close(actual[rank][number], values):
                return rank, number
    return 0, 0


CHECK = ForwardPasses()
