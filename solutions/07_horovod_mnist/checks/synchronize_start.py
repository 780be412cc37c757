"""The check of `synchronize_start`: whether all ranks begin with rank 0's model and optimizer."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch

from autograde.contract.findings import Findings
from autograde.contract.rank_check import Rank, RankCheck
from autograde.contract.schema import array, number, numbers, optional, record
from autograde.contract.verdict import Finding
from autograde.fixtures.numbered_net import BUFFERS, SIZES, TRAINED, NumberedNet, state_of
from autograde.probes.simulated_node import seeded_apart, simulated_node
from autograde.verdicts.judged import JudgedRun, Run
from autograde.verdicts.replicas import close, same_state
from course.world.report import name_ranks

from .averaging import AveragingSGD
from .common import MOMENTUM, STATE, deadlock

finding = Findings("""
no-broadcast 3
{who} still {have} the model from before the call, so the ranks train different models. How do the other ranks get rank
0's model?

buffers-not-broadcast 2
The parameters are rank 0's on all ranks. {who} still {have} the buffers from before the call, such as BatchNorm's
running statistics. What else belongs to a model's state?

parameters-not-broadcast 2
{who} still {have} parameters from before the call: {names}. Which parameters belong to a model's state?

not-rank-0s 2
After the call, all ranks have the model of rank {root}; expected is rank 0's.

rank-0-changed 2
After the call, rank 0 has other numbers than before, in {names}. The other ranks should take over rank 0's, not the
other way round.

wrong-start 2
After the call, {who} {have} neither rank 0's model nor the one from before the call.

rank-0s-momentum-lost 2
Rank 0 came {came}. After the call, {who} {have} something else.

momentum-not-broadcast 2
Rank 0 came {came}. After the call, {who} {have} something else. What does an optimizer's state hold?

options-not-broadcast 1
After the call, {who} still {have} the learning rate from before. Options belong to an optimizer's state.
""")


class SynchronizeStart(RankCheck, JudgedRun):
    """What the ranks have afterwards, beside what rank 0 came with."""

    todo, points, needs, deadline = "synchronize_start", 3, "horovod", 20.0
    consolidation = (
        "Averaged gradients keep models equal only if they began equal, in parameters, buffers and momentum. Then one "
        "broadcast at the start is enough for the whole training."
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """Momentum nowhere, on rank 0 only, on the others only, on all."""
        cases = [self.draw(rng, 4, "first"), self.draw(rng, 3, "others"), self.draw(rng, 2, "none")]
        cases += [self.draw(rng, 3, "all")]
        ### BEGIN HIDDEN CASES
        cases += [self.draw(rng, 2, "first"), self.draw(rng, 4, "others")]
        ### END HIDDEN CASES
        return cases

    def draw(self, rng: random.Random, size: int, moving: str) -> dict:
        """A model and a learning rate for each rank. moving: which ranks come with momentum."""
        has = [{"first": rank == 0, "others": rank > 0, "none": False, "all": True}[moving] for rank in range(size)]
        own = {"models": rng.sample(range(2**31), size), "rates": rng.sample([0.01, 0.02, 0.03, 0.04, 0.05], size)}
        return {"size": size, "local_size": min(2, size), "moving": has, **own}

    @staticmethod
    def run(rank: Rank, subject: Any, case: dict) -> dict:
        """The student's `synchronize_start`, for a model and an optimizer of this rank's own."""
        own = rank.rank
        model = NumberedNet(case["models"][own])
        trained = [each for each in model.parameters() if each.requires_grad]
        optimizer = AveragingSGD(model.parameters(), rank.comm, lr=case["rates"][own], momentum=MOMENTUM)
        for parameter in trained if case["moving"][own] else ():
            optimizer.state[parameter]["momentum_buffer"] = torch.full_like(parameter, 0.5 + own)
        with seeded_apart(own), simulated_node(own % case["local_size"], case["local_size"]):
            subject.load()(model, optimizer)
        moving = [optimizer.state.get(each, {}).get("momentum_buffer") for each in trained]
        momentum = [None if each is None else each.detach().flatten().tolist() for each in moving]
        return {"model": state_of(model), "momentum": momentum, "lr": float(optimizer.param_groups[0]["lr"])}

    def shape(self, case: dict) -> dict:
        """Model, momentum and learning rate."""
        return record(model=STATE, momentum=array(optional(numbers()), len(SIZES) - 1), lr=optional(number()))

    def unfinished(self, case: dict, run: Run) -> Iterable[Finding]:
        """What a deadlock says."""
        return deadlock(run)

    def judge(self, case: dict, results: list[dict]) -> Iterable[Finding]:
        """The model, then the optimizer."""
        came = [state_of(NumberedNet(seed)) for seed in case["models"]]
        found = start_mistakes(came, [seen["model"] for seen in results])
        return found + optimizer_mistakes(results, 0.5 if case["moving"][0] else 0.0, case["rates"][0])


def start_mistakes(came: Sequence[dict], now: Sequence[dict]) -> list[Finding]:
    """What is wrong with the models' states `now`, by rank, where ranks `came` with states of their own.

    Rank 0's is expected on all ranks.
    """
    wrong = [rank for rank, state in enumerate(now) if not same_state(state, came[0])]
    if not wrong:
        return []
    for root in range(1, len(came)):
        if all(same_state(state, came[root]) for state in now):
            return [finding("not-rank-0s", root=root)]
    if wrong[0] == 0:
        names = ", ".join(name for name in came[0] if not same_state(now[0], came[0], [name]))
        return [finding("rank-0-changed", names=names)]
    about = {"who": name_ranks(wrong).capitalize(), "have": "has" if len(wrong) == 1 else "have"}
    if all(same_state(now[rank], came[rank], [*TRAINED, *BUFFERS]) for rank in wrong):
        return [finding("no-broadcast", **about)]
    own = {name for rank in wrong for name in came[0] if not same_state(now[rank], came[0], [name])}
    if not all(same_state(now[rank], came[rank], [name]) for rank in wrong for name in own if name in now[rank]):
        return [finding("wrong-start", **about)]
    if own <= set(BUFFERS):
        return [finding("buffers-not-broadcast", **about)]
    return [finding("parameters-not-broadcast", names=", ".join(name for name in SIZES if name in own), **about)]


def optimizer_mistakes(now: Sequence[Mapping], momentum: float, lr: float) -> list[Finding]:
    """What is wrong with the optimizers' states `now`, by rank, where rank 0 came with `momentum` and `lr`.

    now: ``momentum``, a list of numbers for each parameter that is not frozen, or None, and ``lr``. No momentum and
    momentum 0 are the same.
    """
    found, differ = [], []
    for rank, state in enumerate(now):
        held = [[0.0] if each is None else each for each in state["momentum"]]
        if not all(of_rank and all(close(value, momentum) for value in of_rank) for of_rank in held):
            differ.append(rank)
    if differ:
        key = "rank-0s-momentum-lost" if differ[0] == 0 else "momentum-not-broadcast"
        found.append(
            finding(
                key,
                who=name_ranks(differ),
                have="has" if len(differ) == 1 else "have",
                came="with momentum" if momentum else "without momentum",
            )
        )
    if own := [rank for rank, state in enumerate(now) if not close(state["lr"], lr)]:
        found.append(finding("options-not-broadcast", who=name_ranks(own), have="has" if len(own) == 1 else "have"))
    return found


CHECK = SynchronizeStart()
