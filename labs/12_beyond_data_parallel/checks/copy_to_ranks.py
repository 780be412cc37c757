"""The check of `copy_to_ranks` and `sum_over_ranks`."""

from __future__ import annotations

import random
from collections.abc import Iterable
from functools import partial
from typing import Any

import torch

from autograde.contract.findings import Findings
from autograde.contract.rank_check import CallCheck, Rank
from autograde.contract.schema import boolean
from autograde.contract.subject import Subject
from autograde.contract.verdict import Diagnosis, Finding
from autograde.verdicts.collectives import named, only
from autograde.verdicts.diagnosis import diagnose
from autograde.verdicts.judged import Call, JudgedCalls, Run

from .groups import own_group
from .judged_tensors import close, counted, flat, members_of, not_tensors, stuck_in_group, tensor_schema, wrong_members
from .judged_tensors import finding as of_tensors
from .tensors import by_luck, drawn, shown

NAMES = {"copy": "copy_to_ranks", "sum": "sum_over_ranks"}

finding = Findings("""
copied-value-differs 2
`copy_to_ranks` does not return the values of x. Forward, there is nothing to do.

copied-value-summed 2
`copy_to_ranks` returns {size} times x: it sums forward. x is the same on all ranks already; when do the ranks differ?

copied-gradient-own 2
The gradient of x is each rank's own: `copy_to_ranks` does not sum it over the ranks. Each rank knows only what came
back through its own part.

copied-gradient-average 1.5
The gradient of x is {size} times too small: `copy_to_ranks` averages it over the ranks. x goes into all parts; what do
derivatives of several paths do?

copied-gradient-layout 1.5
`copy_to_ranks` sums a plain gradient. But where the gradient is transposed or expanded, each rank keeps its own. Which
tensor does the all-reduce change, and which one do you return?

copied-gradient-differs 2
The gradient of x after `copy_to_ranks`, as it arrives {gradient} on x {layout}, is not the sum of the ranks' gradients.

summed-value-own 2
`sum_over_ranks` returns each rank's own x, not the sum over the ranks.

summed-value-average 1.5
`sum_over_ranks` returns the average over the ranks: {size} times too small.

summed-value-layout 1.5
`sum_over_ranks` sums a plain x. But where x is transposed or expanded, each rank gets its own x back. Which tensor does
the all-reduce change, and which one do you return?

copied-gradient-memory-order 1.5
Where the gradient is transposed on some ranks only, `copy_to_ranks` adds up numbers of different places: an all-reduce
adds what lies at the same place of the memory, and `clone()` leaves the order there as it is. Which order do all ranks
have?

summed-value-memory-order 1.5
Where x is transposed on some ranks only, `sum_over_ranks` adds up numbers of different places: an all-reduce adds what
lies at the same place of the memory, and `clone()` leaves the order there as it is. Which order do all ranks have?

summed-value-differs 2
`sum_over_ranks` does not return the sum of the ranks' x, where x is {layout}.

summed-gradient-summed 2
Going back, `sum_over_ranks` sums the gradient over the ranks, so it is {size} times too large where the ranks agree.
The gradient of a sum, by each of its summands, is what?

summed-gradient-average 1.5
Going back, `sum_over_ranks` divides or averages the gradient. It passes as it is.

summed-gradient-differs 2
The gradient of x after `sum_over_ranks` is not the gradient that arrived, which is {gradient}.

graph-lost 2
What `{function}` returns has no graph behind it, so no gradient gets back to x.

communicates-needlessly 1
In the {way} pass of `{function}` the ranks call {ops}. There is nothing to be communicated in this direction.

not-one-all-reduce 1
In the {way} pass of `{function}`, each rank calls {ops}. One all-reduce does it.
""")


BY_RANK = "transposed on some ranks"  # a layout


def layout_on(rank: int, layout: str) -> str:
    """The layout of a rank's tensor, as `drawn` takes it."""
    return ("transposed" if rank % 2 else "plain") if layout == BY_RANK else layout


def by_memory(tensors: list[torch.Tensor], layouts: list[str]) -> list[list[float]]:
    """By rank, the sum of what lies in the same places of the memory, read in the rank's own layout."""
    turned = [layout == "transposed" for layout in layouts]
    total = sum((own.mT if by else own).reshape(-1) for own, by in zip(tensors, turned, strict=True))
    shape = tensors[0].shape
    return [flat(total.reshape(shape[::-1]).mT if by else total) for by in turned]


class BothFunctions:
    """The cell of a subject, which defines two functions."""

    def __init__(self, subject: Subject) -> None:
        self.subject, self.filename = subject, subject.filename

    def salted(self, rank: int) -> BothFunctions:
        """The same, as `Subject.salted`."""
        return BothFunctions(self.subject.salted(rank))

    def load(self, **given: Any) -> tuple:
        """Both of them."""
        return self.subject.load_several(self.subject.todo, NAMES["sum"], **given)


class CopyToRanks(CallCheck, JudgedCalls):
    """f and g, forward and backward, in all layouts, on all ranks and on some."""

    todo, points, needs, deadline = "copy_to_ranks", 3, "torch", 8.0
    consolidation = (
        "What is copied forward is summed backward, and what is summed forward is copied backward. Whoever splits a "
        "model needs this pair."
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """A pass forward and one backward of each function, in several layouts; also without gradients."""

        def case(size: int, ends: bool, *layouts: tuple[str, str], graph: bool = True) -> dict:
            calls = []
            for which in NAMES:
                for layout, gradient in layouts:
                    plan = {"which": which, "layout": layout, "gradient": gradient, "graph": graph, "ends": ends}
                    plan |= {"seed": rng.randrange(10**6), "shape": [rng.randrange(2, 4), rng.randrange(4, 6)]}
                    calls += [plan | {"way": way} for way in ("forward", "backward")[: 1 + graph]]
            return {"size": size, "ends": ends, "calls": calls}

        cases = [
            case(4, False, ("plain", "plain")),
            case(4, False, ("transposed", "expanded"), ("expanded", "transposed")),
            case(4, True, ("plain", "transposed")),
            case(3, False, ("plain", "plain"), graph=False),
            case(4, False, (BY_RANK, BY_RANK)),
        ]
        return cases

    def probe(self, world: Any, subject: Subject, case: dict) -> dict:
        """The calls, with both functions."""
        return super().probe(world, BothFunctions(subject), case)

    @staticmethod
    def call(functions: tuple, rank: Rank, call: dict) -> dict:
        """Runs on each rank: a pass of one function. What is returned, or the gradient of x."""
        present, group = own_group(rank, call["ends"])
        seen = {"present": present, "value": shown(None), "graph": False, "warned": False}
        if not present:
            return seen
        own = rank.rank if call["which"] == "sum" else 0
        with by_luck(seen), torch.set_grad_enabled(call["graph"]):
            if call["way"] == "forward":
                layout = layout_on(rank.rank, call["layout"])
                leaf = drawn(call["seed"] + own, call["shape"], layout).to(rank.torch_device).requires_grad_()
                x = rank.argument("x", leaf.view_as(leaf))
                y = functions[call["which"] == "sum"](x, *group)
                rank.notes["way back"] = leaf, y
                seen |= {"value": shown(y), "graph": getattr(y, "grad_fn", None) is not None}
            else:
                leaf, y = rank.notes["way back"]
                layout = layout_on(rank.rank, call["gradient"])
                gradient = drawn(call["seed"] + 10 + rank.rank, call["shape"], layout).to(rank.torch_device)
                if getattr(y, "grad_fn", None) is not None and y.shape == gradient.shape:
                    y.backward(rank.argument("gradient", gradient))
                    seen |= {"graph": True, "value": shown(leaf.grad)}
        return seen

    def shape(self, case: dict, call: dict) -> dict[str, dict]:
        """A tensor, whether it has a graph, and whether torch warned."""
        return {"present": boolean(), "value": tensor_schema(), "graph": boolean(), "warned": boolean()}

    def unfinished(self, case: dict, run: Run) -> Iterable[Finding]:
        """Whether a rank waits for ranks that are not of the group."""
        return stuck_in_group(case, run)

    def judge(self, case: dict, call: Call) -> list[Finding | Diagnosis]:
        """The values or gradients of all ranks that take part; then what was communicated."""
        plan, ranks = call.plan, members_of(case)
        name, forward = NAMES[plan["which"]], plan["way"] == "forward"
        results, logs = [call.shown[rank] for rank in ranks], [call.events[rank] for rank in ranks]
        if found := wrong_members(case, logs):
            return found
        found = [*only("torch", logs)]
        if any(each["warned"] for each in results):
            found.append(of_tensors("gradient-by-luck"))
        if plan["graph"] and not all(each["graph"] for each in results):
            return [*found, finding("graph-lost", function=name)]
        values = [each["value"] for each in results]
        if other := not_tensors(values, [plan["shape"]] * len(ranks), ranks):
            return found + other
        numbers = self.numbers(plan, ranks, [each["values"] for each in values])
        calls, due = counted(logs), (plan["which"] == "sum") == forward
        about = {"function": name, "way": plan["way"], "ops": named(calls), "n": len(calls)}
        if not due and calls and not found:
            found.append(finding("communicates-needlessly", **about))
        elif due and numbers.otherwise is None and [each["kind"] for each in calls] != ["allreduce"]:
            found.append(finding("not-one-all-reduce", **about))
        return [*found, numbers]

    def numbers(self, plan: dict, ranks: list[int], actual: list) -> Diagnosis:
        """The numbers of all ranks, held against those of known mistakes."""
        copied, forward, size = plan["which"] == "copy", plan["way"] == "forward", len(ranks)
        layouts = [layout_on(rank, plan["layout" if forward else "gradient"]) for rank in ranks]
        seeds = [plan["seed"] + (0 if copied else rank) if forward else plan["seed"] + 10 + rank for rank in ranks]
        own = [drawn(seed, plan["shape"], layout) for seed, layout in zip(seeds, layouts, strict=True)]
        total = [flat(sum(own))] * size
        mean, kept = [flat(sum(own) / size)] * size, [flat(each) for each in own]
        expected = kept if copied == forward else total
        # A contiguous copy is reduced, and the original returned, or a copy of the same layout.
        pairs = [*zip(layouts, kept, strict=True)]
        confused = [one if layout != "plain" else total[0] for layout, one in pairs]
        transposed = [one if layout == "transposed" else total[0] for layout, one in pairs]
        in_memory = by_memory(own, layouts)
        where = plan["layout"] + ("" if plan["graph"] else ", under `torch.no_grad()`")
        about = {"size": size, "layout": where, "gradient": plan["gradient"]}
        of_copy = {
            True: {"copied-value-summed": total},
            False: {
                "copied-gradient-own": kept,
                "copied-gradient-layout": confused,
                "copied-gradient-layout/transposed": transposed,
                "copied-gradient-average": mean,
                "copied-gradient-memory-order": in_memory,
            },
        }
        of_sum = {
            True: {
                "summed-value-own": kept,
                "summed-value-layout": confused,
                "summed-value-layout/transposed": transposed,
                "summed-value-average": mean,
                "summed-value-memory-order": in_memory,
            },
            False: {
                "summed-gradient-summed": total,
                "summed-gradient-average": mean,
                "summed-gradient-average/divided": [flat(each / size) for each in own],
            },
        }
        what = f"{'copied' if copied else 'summed'}-{'value' if forward else 'gradient'}"
        mistakes = (of_copy if copied else of_sum)[forward]
        return diagnose(what, actual, expected, mistakes, partial(finding, **about), f"{what}-differs", close)


CHECK = CopyToRanks()
