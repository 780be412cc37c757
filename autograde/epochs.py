"""Verdicts on one epoch of training on several ranks: what the model was shown, and what became of its parameters."""

from __future__ import annotations

import random
from collections.abc import Sequence

from autograde.check import Finding
from autograde.findings import Findings
from autograde.means import apart
from autograde.replicas import Rules, cut_into_batches, replay, same_state
from course.numbered import SIZES, NumberedNet, state_of

finding = Findings("""
epoch-not-told 1.5
In epoch {epoch} the ranks draw the samples in an order of another epoch. How does the sampler know which one it is?

epoch-told-late 1.5
The sampler is told of epoch {epoch} when its samples are drawn already.

shown-twice 1.5
The model is shown a batch of rank {rank} more than once. One forward pass has all that is needed.

other-batches 3
The model is not shown the batches that rank {rank}'s loader yields, one after another.

not-train-mode 2
The model came in eval mode and was trained in it: its BatchNorm does not look at the batches.

not-trained 4
After the epoch the model's parameters are what they were before.

gradient-carried-over 2
The steps contain gradients of the steps before: `backward` adds to what lies in `.grad`.

own-gradients 3
Each rank trains with its own gradients.

wrong-training 3
The parameters after the epoch are not those that one step for each batch gives.
""")

WRONG_RULES = {"gradient-carried-over": Rules(zeroed=False), "own-gradients": Rules("own")}


def draw_epochs(rng: random.Random, size: int) -> dict:
    """A case: `size` ranks, whose last batches are of different sizes, in two epochs.

    Besides what `autograde.replicas.replay` needs it has the epochs' numbers, ``epochs``, and what each rank draws that
    does not tell the sampler the epoch, ``other``.
    """
    lengths = rng.sample([10, *(rng.choice((11, 12)) for _ in range(size - 1))], size)

    def order() -> list[list[int]]:
        ids = rng.sample(range(12 * size), 12 * size)
        return [ids[12 * rank : 12 * rank + length] for rank, length in enumerate(lengths)]

    case = {"size": size, "local_size": min(2, size), "samples": 12 * size, "batch_size": 4}
    case |= {"epochs": rng.sample(range(1, 40), 2), "orders": [order(), order()], "other": order()}
    case |= {"lr": round(rng.uniform(0.03, 0.06), 4), "model": rng.randrange(2**31), "data": rng.randrange(2**31)}
    _, losses = replay({**case, "orders": case["orders"][:1]})[0]
    return case if apart(losses, batch_sizes(case, 0)) else draw_epochs(rng, size)


def batch_sizes(case: dict, number: int) -> list[list[int]]:
    """Samples in each batch of each rank in epoch `number` of the case."""
    return [[len(ids) for ids in cut_into_batches(own, case["batch_size"])] for own in case["orders"][number]]


def epoch_mistakes(case: dict, number: int, seen: Sequence[dict], states: Sequence[dict]) -> list[Finding]:
    """What is wrong with epoch `number` of the case, as `autograde.replicas.replay` has it, whose `states` are due.

    seen: for each rank ``forwards``, pairs (samples, train mode), ``told``, the epochs that its sampler was told, and
    ``state``. The case has ``epochs``, their numbers, and ``other``, what a rank draws that does not tell the epoch.
    """
    epoch, batch_size = case["epochs"][number], case["batch_size"]
    for rank, one in enumerate(seen):
        shown, due = [ids for ids, _ in one["forwards"]], cut_into_batches(case["orders"][number][rank], batch_size)
        if shown == cut_into_batches(case["other"][rank], batch_size):
            return [finding("epoch-told-late" if epoch in one["told"] else "epoch-not-told", epoch=epoch)]
        if shown != due:
            twice = any(shown.count(ids) > 1 for ids in due)
            return [finding("shown-twice" if twice else "other-batches", rank=rank)]
    if not all(training for one in seen for _, training in one["forwards"]):
        return [finding("not-train-mode")]
    if all(same_state(one["state"], due) for one, due in zip(seen, states, strict=True)):
        return []
    if number == 0 and all(same_state(one["state"], state_of(NumberedNet(case["model"])), SIZES) for one in seen):
        return [finding("not-trained")]
    for key, rules in WRONG_RULES.items():
        made, _ = replay(case, rules)[number]
        if all(same_state(one["state"], state, SIZES) for one, state in zip(seen, made, strict=True)):
            return [finding(key)]
    return [finding("wrong-training")]
