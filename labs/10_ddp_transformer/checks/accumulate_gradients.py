"""The check of `accumulate_gradients`."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

import torch

from autograde.contract.calls import described
from autograde.contract.findings import Findings
from autograde.contract.rank_check import CallCheck, Rank
from autograde.contract.schema import array, boolean, described_value, numbers, optional, string
from autograde.contract.verdict import Diagnosis, Finding
from autograde.probes.ddp_trace import MOST, trace_passes
from autograde.verdicts import one_process
from autograde.verdicts.diagnosis import diagnose
from autograde.verdicts.judged import Call, JudgedCalls, Run
from autograde.verdicts.means import TOLERANCE
from autograde.verdicts.numbers import near
from course.models.sentences import PAD, collate, loss_fn

from .common import SteepTranslator, gradient_row, trained, wrapped
from .ddp_passes import EXPLAIN_GRADIENTS, in_train_mode, passes_mistakes, stuck_in_a_step, trace_schema
from .steps import draw_step, parts_of

finding = Findings("""
divided-too-early 1
The gradient is already divided by a number of tokens or of micro-batches. The gradient of the plain sum is expected
here: what to divide by is known only when all ranks' tokens are.

average-undone 1
The gradient is {size} times as large as the average over {size} ranks, which DistributedDataParallel leaves.

wrong-sum 1.5
The gradient is not the average over the ranks of the gradient of their summed losses. {seen}

nothing-in-grad 2
After the call there is no gradient.

not-a-pair 1
The function returns what is of type {kind}. Expected are two numbers: the summed loss, and the number of tokens.

wrong-loss 0.5
Rank {rank} returns {actual} as its loss. Expected is the sum over its {count} micro-batches: {expected:.6g}.

last-loss-returned 0.5
Rank {rank} returns the loss of its last micro-batch only: {actual}. The sum over {count} of them is {expected:.6g}.

mean-for-sum 0.5
Rank {rank} returns a mean as its loss: {actual}. Expected is the sum: {expected:.6g}.

loss-of-all-ranks 0.5
Rank {rank} returns the loss of all ranks: {actual}. Expected is its own: {expected:.6g}.

loss-with-graph 0.5
What rank {rank} returns has a graph for gradients (`requires_grad`). So long as somebody keeps the sum, the graphs of
all micro-batches stay in memory. Take each loss out of its graph, by `item` or `detach`.

padding-in-tokens 0.5
Rank {rank} returns {actual} as its number of tokens. That counts the padding, too; without it there are {expected}.

wrong-tokens 0.5
Rank {rank} returns {actual} as its number of tokens. Its {count} micro-batches have {expected}.
""")

EXACT = 1e-9  # relative; nothing has to go through float32 here


class AccumulateGradients(CallCheck, JudgedCalls):
    """When gradients are synchronised, what they are then, and the two numbers that are returned."""

    todo, points, needs, deadline = "accumulate_gradients", 2, "torch", 8.0
    consolidation = (
        "Gradients add up in `.grad` by themselves, so they have to cross the network only once in a step. The "
        "wrapper decides about that in the forward pass."
    )
    prices = MappingProxyType({"all-at-once": 1, "one-micro-batch-only": 1, "not-train-mode": 0.5})

    def cases(self, rng: random.Random) -> list[dict]:
        """Several ranks, and one; ten micro-batches, and a single one; BatchNorm."""
        cases = [draw_case(rng, 4, [3, 2]), draw_case(rng, 2, [10])]
        cases += [draw_case(rng, 3, [4, 1], norm=True), draw_case(rng, 1, [3])]
        return cases

    def gpu_case(self, rng: random.Random) -> dict:
        """Two micro-batches on each of two ranks."""
        return draw_case(rng, 2, [2])

    @staticmethod
    def given(rank: Rank, case: dict) -> Mapping[str, Any]:
        """What the cell finds by name. The model serves all calls."""
        model = wrapped(case, rank.rank, SteepTranslator).train()
        rank.notes |= {"model": model, "trace": trace_passes(model)}
        return {"PAD": PAD, "collate": collate, "loss_fn": loss_fn}

    @staticmethod
    def call(accumulate_gradients: Callable, rank: Rank, call: dict) -> dict:
        """One call at the call's parameters, without gradients beforehand."""
        model, trace = rank.notes["model"], rank.notes["trace"]
        model.module.load_state_dict(SteepTranslator(call["seed"], norm=call["norm"]).state_dict())
        model.zero_grad()
        trace.clear()
        batches = [collate(pairs) for pairs in call["batches"][rank.rank]]
        value = accumulate_gradients(model, batches, loss_fn)
        several = isinstance(value, (tuple, list)) or (isinstance(value, torch.Tensor) and value.ndim > 0)
        pair = several and len(value) == 2
        shown = {"kind": type(value).__name__, "totals": [described(each) for each in value] if pair else None}
        return {
            **shown,
            "attached": pair and any(getattr(each, "requires_grad", False) for each in value),
            "gradient": gradient_row(model.module),
            "trace": trace[:MOST],
        }

    def shape(self, case: dict, call: dict) -> dict[str, dict]:
        """What was returned, the gradients after it, and the passes."""
        model = SteepTranslator(0, norm=case["norm"])
        gradient = numbers(sum(each.numel() for each in trained(model)))
        totals = optional(array(described_value(), 2))
        seen = {"trace": trace_schema(), "attached": boolean()}
        return {"kind": string(), "totals": totals, "gradient": gradient, **seen}

    def unfinished(self, case: dict, run: Run) -> Iterable[Finding]:
        """Ranks that communicate differently."""
        return stuck_in_a_step(run)

    def judge(self, case: dict, call: Call) -> list[Finding | Diagnosis]:
        """The passes; then the gradients, where the passes do not explain them, and what was returned."""
        passes = passes_mistakes(len(call.plan["batches"][0]), call.of("trace"), call.events)
        found: list[Finding | Diagnosis] = [*passes]
        keys = {each.key for each in passes}
        training = in_train_mode(call.of("trace"))
        if "several-steps" in keys or training is None:
            return found
        parts = parts_of(call.plan, SteepTranslator(call.plan["seed"], norm=call.plan["norm"]).train(training))
        of_sums = sum_mistakes(call, parts)
        if keys & EXPLAIN_GRADIENTS:
            of_sums = [each for each in of_sums if isinstance(each, Finding) and each.key == "nothing-in-grad"]
        found += of_sums
        return found + totals_mistakes(call, parts)


def draw_case(rng: random.Random, size: int, micro_batches: list[int], norm: bool = False) -> dict:
    """A case with a call for each number of micro-batches."""
    calls = [draw_step(rng, size, count, norm) for count in micro_batches]
    return {"size": size, "norm": norm, "seed": rng.randrange(10**6), "calls": calls}


def sum_mistakes(call: Call, parts: Sequence[one_process.Part]) -> list[Finding | Diagnosis]:
    """What is wrong with the gradients that the ranks have, where the average of sums is expected."""
    size, count = call.size, len(parts) // call.size
    rows = [one_process.row_of(row) for row in call.of("gradient")]
    if any(bool((row == 0).all()) for row in rows):
        return [finding("nothing-in-grad")]
    shares = [one_process.weights_of(row * size, [part.gradient for part in parts]) for row in rows]
    if any(share is None for share in shares):
        seen = "It is no sum of the micro-batches' gradients at these parameters, however each is weighted."
        return [finding("wrong-sum", seen=seen)]
    items = torch.tensor([part.count for part in parts], dtype=torch.float64)
    places = torch.tensor([part.places for part in parts], dtype=torch.float64)
    one, used = torch.ones_like(items), shares[0].abs() > one_process.WEIGHT
    own, own_places = (each.reshape(size, -1).sum(1).repeat_interleave(count) for each in (items, places))
    divisors = (items.sum(), own, items, places.sum(), own_places, places, count, count * items)
    known = {f"divided-too-early/{number}": one / divisor for number, divisor in enumerate(divisors)}
    if size > 1:
        known |= {"average-undone": size * one}
    alone = count > 1 and one_of_each(shares)
    found: list[Finding | Diagnosis] = []
    if alone:
        which = used.tolist().index(True) % count + 1
        found = [one_process.finding("one-micro-batch-only", which=which, count=count)]
    kept = used if alone else one > 0  # what is wrong with those that are there is looked at all the same
    shares, one = [share[kept] for share in shares], one[kept]
    expected = torch.stack([part.gradient for part in parts])[kept].sum(0) / size
    off = max(float((row - expected).abs().max() / expected.abs().max()) for row in rows)
    if off > EXACT and one_process.alike(shares, one):
        return [*found, finding("wrong-sum", seen=f"It is off by {off:.1g}, relative to its largest number.")]
    factor = shares[0][0]
    seen = f"It is {factor:.3g} times that." if one_process.alike(shares, factor * one) else ""
    known = {key: pattern[kept] for key, pattern in known.items()}
    told = partial(finding, size=size, seen=seen)
    return [*found, diagnose("gradient", shares, one, known, told, "wrong-sum", one_process.alike)]


def one_of_each(shares: Sequence[torch.Tensor]) -> bool:
    """Whether one micro-batch of each rank, the same number on all, is all that there is."""
    used = (shares[0].abs() > one_process.WEIGHT).reshape(len(shares), -1)
    return bool((used == used[0]).all()) and int(used[0].sum()) == 1


def totals_mistakes(call: Call, parts: Sequence[one_process.Part]) -> list[Finding | Diagnosis]:
    """What is wrong with the losses and the numbers of tokens that the ranks returned."""
    if unfit := [shown["kind"] for shown in call.shown if shown["totals"] is None]:
        return [finding("not-a-pair", kind=unfit[0])]
    own = [[part for part in parts if part.rank == rank] for rank in range(call.size)]
    losses, tokens = ([totals[place]["value"] for totals in call.of("totals")] for place in (0, 1))
    sums, counts = ([sum(getattr(part, name) for part in each) for each in own] for name in ("total", "count"))
    attached = [rank for rank, is_so in enumerate(call.of("attached")) if is_so]
    found: list[Finding | Diagnosis] = [finding("loss-with-graph", rank=rank) for rank in attached[:1]]
    of_losses = {
        "last-loss-returned": [each[-1].total for each in own],
        "mean-for-sum": [total / count for total, count in zip(sums, counts, strict=True)],
        "mean-for-sum/micro-batches": [total / len(each) for total, each in zip(sums, own, strict=True)],
        "loss-of-all-ranks": [sum(sums)] * call.size,
    }
    of_tokens = {"padding-in-tokens": [sum(part.places for part in each) for each in own]}
    for subject, actual, expected, known, otherwise in (
        ("loss", losses, sums, of_losses, "wrong-loss"),
        ("tokens", tokens, counts, of_tokens, "wrong-tokens"),
    ):

        def equal(values: Sequence[float | None], others: Sequence[float]) -> bool:
            return None not in values and near(values, others, TOLERANCE)

        wrong = next((rank for rank in range(call.size) if not equal(actual[rank:][:1], expected[rank:][:1])), 0)
        value = "no number" if actual[wrong] is None else f"{actual[wrong]:.6g}"
        about = {"rank": wrong, "actual": value, "expected": expected[wrong], "count": len(own[wrong])}

        def made(key: str, about: dict = about) -> Finding:
            return finding(key, **about)

        found.append(diagnose(subject, actual, expected, known, made, otherwise, equal))
    return found


CHECK = AccumulateGradients()
