"""The check of `distributed_path`."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection
from types import MappingProxyType
from typing import Any

import numpy as np

from autograde.contract.calls import type_in_words
from autograde.contract.findings import Findings
from autograde.contract.rank_check import CallCheck, Rank
from autograde.contract.schema import array, boolean, integer, numbers, string
from autograde.contract.verdict import Diagnosis, Finding
from autograde.probes.simulated_node import simulated_node
from autograde.verdicts.judged import Call, JudgedCalls
from autograde.verdicts.orders import finding as of_orders

from .batches import LOCAL_SIZE, asked_once, batch_mistakes, no_step
from .steps import path_mistakes, rate_of

finding = Findings("""
no-path 4
Rank {rank} returns {kind}. A float64 tensor of shape [steps + 1, 2] is expected, on every rank.

path-not-float64 1
Rank {rank} returns {kind}, where a tensor of float64 is expected. Which dtype has a tensor that is made of a list of
floats?

history-kept 0.5
The path still has its autograd history (`requires_grad`). It is a record of points, from which nothing is derived.

path-not-finite 4
Row {row} of the path is not a finite number. The gradients that your function was given are all finite.

gradient-never-asked 4
Rank {rank} never calls `distributed_gradient`. Every step takes its gradient from it, on every rank: it is where the
ranks' samples meet.

gradient-asked-twice 1.5
In {steps} steps, your function calls `distributed_gradient` {n} times, twice in each step. One call returns both
numbers, dm and dn, for the point at which the step begins.

ranks-out-of-step 3
The ranks call `distributed_gradient` {numbers} times, by rank. It has to be called once a step, on every rank, also on
one whose share is empty.

more-than-broadcasts 1.5
Your function itself calls {ops}, besides `distributed_gradient`. What do the ranks have to agree on that they do not
know already?

broadcast-every-step 1
Rank {rank} broadcasts after the first step. If the ranks start at the same point and take the same steps, where are
they then?

not-repeatable 1
With seed {seed} twice, the batches are different ones. The orders should follow from the seed alone.
""")


class DistributedPath(CallCheck, JudgedCalls):
    """A stand-in for `distributed_gradient` notes which samples each rank gives it; the path must follow from them."""

    todo, points, needs = "distributed_path", 4, "horovod"
    consolidation = (
        "Ranks that start alike and average their gradients stay alike, without sending a single parameter again: "
        "together they are one process with the whole batch."
    )
    prices = MappingProxyType({"seed-ignored": 1, "same-order-every-epoch": 1.5, "argument-changed": 1})

    def cases(self, rng: random.Random) -> list[dict]:
        """Batches that divide evenly and not, with fewer samples than ranks, and with more than there are."""

        def call(size: int, samples: int, batch_size: int, epochs: int, seed: int | None = None) -> dict:
            start = [[rng.uniform(-2, 2), rng.uniform(-2, 2)] for _ in range(size)]
            plan = {"samples": samples, "batch_size": batch_size, "epochs": epochs, "start": start}
            seed = rng.randrange(1, 10**6) if seed is None else seed
            return plan | {"data": rng.getrandbits(32), "seed": seed, "rate": rng.uniform(0.03, 0.06)}

        def case(size: int, *about: tuple[int, int, int]) -> dict:
            calls = [call(size, *each) for each in about]
            calls += [dict(calls[0]), {**calls[0], "seed": calls[0]["seed"] + 1}]
            return {"size": size, "calls": calls, "late": rng.randrange(size)}

        cases = [
            case(2, (9, 3, 3)),  # no share is empty: what else is wrong is seen before ranks wait for each other
            case(4, (18, 4, 3), (7, 3, 2)),
            case(3, (11, 4, 3), (8, 20, 2)),
            case(1, (9, 4, 2)),
        ]
        return cases

    @staticmethod
    def given(rank: Rank, case: dict) -> dict[str, Any]:
        """A right `distributed_gradient`, which notes the samples that it is given."""
        import horovod.torch as hvd
        import torch

        def distributed_gradient(m: Any, n: Any, x: Any, y: Any) -> tuple[float, float]:
            """The gradient over the samples of all ranks."""
            known, m, n = rank.notes["known"], float(m), float(n)
            pairs = list(zip(x.tolist(), y.tolist(), strict=True))
            rank.notes["shares"].append([known.get(pair, -1) for pair in pairs])
            x, y = x.double(), y.double()
            error = 2 * (m * x + n - y)
            count = torch.tensor(float(len(pairs)), dtype=torch.float64)
            sums = hvd.allreduce(torch.stack([(error * x).sum(), error.sum(), count]), op=hvd.Sum)
            dm, dn, count = sums.tolist()
            return (dm / count, dn / count) if count else (0.0, 0.0)

        return {"distributed_gradient": distributed_gradient}

    @staticmethod
    def call(function: Callable, rank: Rank, call: dict) -> dict:
        """The path, and the samples of each step, with global generators in another state on each rank."""
        import torch

        draw = np.random.default_rng(call["data"])
        x, y = (rank.argument(name, torch.from_numpy(draw.uniform(-1.5, 2.5, call["samples"]))) for name in "xy")
        pairs = zip(x.tolist(), y.tolist(), strict=True)
        rank.notes["known"], rank.notes["shares"] = {pair: number for number, pair in enumerate(pairs)}, []
        for set_seed in (torch.manual_seed, random.seed, np.random.seed):
            set_seed(1000 * rank.rank + len(rank.notes.setdefault("calls", [])))
        rank.notes["calls"].append(call["seed"])
        start = tuple(call["start"][rank.rank])
        with simulated_node(rank.rank % LOCAL_SIZE, LOCAL_SIZE):
            path = function(x, y, call["batch_size"], rate_of(call), call["epochs"], start, call["seed"])
        shown = {"kind": type_in_words(path), "rows": [], "attached": False}
        if isinstance(path, torch.Tensor):
            shown["kind"] = f"a tensor of {str(path.dtype).removeprefix('torch.')}, of shape {list(path.shape)}"
            shown["attached"] = path.requires_grad
            if path.ndim == 2 and path.shape[1] == 2 and len(path) < 1000:
                shown["rows"] = path.detach().double().tolist()
        return shown | {"shares": rank.notes["shares"][:1000]}

    def shape(self, case: dict, call: dict) -> dict[str, dict]:
        """Rows of the path, and numbers of samples by step."""
        rows, shares = array(numbers(2)), array(array(integer(-1, call["samples"] - 1)))
        return {"kind": string(), "rows": rows, "attached": boolean(), "shares": shares}

    def empty(self, case: dict, plan: dict) -> Collection[int]:
        """Ranks whose share of a batch may be empty."""
        return range(plan["batch_size"], len(plan["start"]))

    def verdict(self, case: dict, evidence: dict) -> list[Finding | Diagnosis]:
        """Each call by itself; then whether the seed alone decides about the batches."""
        found = [*super().verdict(case, evidence)]
        if evidence["state"] == "ok" and not found_wrong(found):
            calls = [rank["result"]["calls"] for rank in evidence["ranks"]]
            first, again, other = ([own[number]["shown"]["shares"] for own in calls] for number in (0, -2, -1))
            seeds = [call["seed"] for call in case["calls"]]
            if first != again:
                found.append(finding("not-repeatable", seed=seeds[0]))
            elif first == other:
                found.append(of_orders("seed-ignored", epoch=0, seeds=f"{seeds[0]} and {seeds[-1]}"))
        return found

    def judge(self, case: dict, call: Call) -> list[Finding | Diagnosis]:
        """The batches, the path, and what was communicated."""
        numbers_of = [len(shares) for shares in call.of("shares")]
        few = call.plan["samples"] < call.plan["batch_size"]
        if few and not any(numbers_of) and all(len(rows) == 1 for rows in call.of("rows")):
            return [no_step(call.plan["samples"], call.plan["batch_size"])]
        for rank, shown in enumerate(call.shown):
            if not numbers_of[rank]:
                return [finding("gradient-never-asked", rank=rank)]
            if not shown["rows"]:
                return [finding("no-path", rank=rank, kind=shown["kind"])]
            if bad := [number for number, row in enumerate(shown["rows"]) if None in row]:
                return [finding("path-not-finite", row=bad[0])]
        if len({*numbers_of}) > 1:
            return [finding("ranks-out-of-step", numbers=", ".join(map(str, numbers_of)))]
        found: list[Finding | Diagnosis] = []
        once = asked_once(call)
        if once is not call:
            found.append(finding("gradient-asked-twice", n=numbers_of[0], steps=numbers_of[0] // 2))
        found += [*batch_mistakes(once), *path_mistakes(once)]
        found += self.form(call)
        return found + self.communication(call)

    def form(self, call: Call) -> list[Finding]:
        """What is wrong with the tensor, apart from its numbers."""
        found = [finding("history-kept")] if True in call.of("attached") else []
        for rank, kind in enumerate(call.of("kind")):
            if not kind.startswith("a tensor of float64"):
                return [*found, finding("path-not-float64", rank=rank, kind=kind)]
        return found

    def communication(self, call: Call) -> list[Finding]:
        """Besides the stand-in's reductions: only broadcasts, and these before the first step."""
        for rank, log in enumerate(call.events):
            own = [event for event in log if event["kind"] != "broadcast"]
            reductions = [event for event in own if event["kind"] == "allreduce" and event["bytes"] == 24]
            others = [event for event in own if event not in reductions]
            if others or len(reductions) > len(call.shown[rank]["shares"]):
                ops = sorted({f"{event['library']}'s {event['op']}" for event in others or reductions[-1:]})
                return [finding("more-than-broadcasts", ops=" and ".join(ops))]
            first = min((event["start"] for event in reductions), default=0)
            if any(event["kind"] == "broadcast" and event["start"] > first for event in log):
                return [finding("broadcast-every-step", rank=rank)]
        return []


def found_wrong(found: list[Finding | Diagnosis]) -> bool:
    """Whether anything is wrong so far."""
    return any(isinstance(each, Finding) or each.otherwise for each in found)


CHECK = DistributedPath()
