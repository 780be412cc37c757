"""Which samples the ranks of `distributed_path` used in which step: batches, shared out evenly, in new orders."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from autograde.rubric import Call, Words, Wrong, once
from autograde.rubric.judges import shares

words = Words("""
gradient-never-asked: Rank {rank} never calls `distributed_gradient`. Every step takes its gradient from it, on every
rank: it is where the ranks' samples meet.

pairs-unknown: In step {step}, rank {rank} gives `distributed_gradient` samples that are not among x and y as they
belong together. Is each x beside its own y, and in float64?

whole-batch-on-every-rank: In step {step}, every rank gives `distributed_gradient` the same {n:sample}. The path is
right, and each of {size:rank} does all of the work. Which part of a batch is this rank's?

batch-share-by-local-rank: In every step, ranks with the same local rank use the same samples. The check simulates nodes
with {local_size} ranks each, on each of which local ranks count from 0. Which number does a rank have among all of
them?

batch-size-per-rank: The batch of step {step} has {n:sample} on all ranks together. `batch_size` is {batch_size}, and
counts the samples of a step on all ranks.

shares-of-a-batch-differ: The batch of step {step} has {n:sample}, and the ranks take {counts} of them. Shares should
differ by one at most.

rank-has-its-own-order: In epoch {epoch}, several ranks use the same samples ({twice} in all). The ranks do not share
one order: what do they draw from, and in which state is it on each of them?

steps-missing: With {samples:sample}, batch_size {batch_size} and {epochs:epoch}, {expected:step} are expected. Your
function asks for {actual:gradient}.
""")


def asked_twice(call: Call) -> bool:
    """Whether all steps ask for two gradients of the same samples."""
    n = len(call.seen[0].shares)
    return (
        n > 0
        and all(own[::2] == own[1::2] for own in call.of("shares"))
        and all(len(rows) == n // 2 + 1 for rows in call.of("rows"))
    )


@once
def steps_of(call: Call) -> list[tuple[list[int], ...]]:
    """By step: the numbers of each rank's samples."""
    every = 2 if asked_twice(call) else 1
    return [*zip(*(own[::every] for own in call.of("shares")), strict=False)]


@once
def unions_of(call: Call) -> list[list[int]]:
    """By step: the numbers of all ranks' samples."""
    return [[sample for own in step for sample in own] for step in steps_of(call)]


def no_full_batch(call: Call) -> bool:
    """Whether a loop over full batches makes no step, as there is none."""
    few = call.arguments["samples"] < call.arguments["batch_size"]
    return few and not any(call.of("shares")) and all(len(rows) == 1 for rows in call.of("rows"))


def never_asked(call: Call) -> Wrong | None:
    """What is wrong if a rank asks for no gradient."""
    ranks = [rank for rank, shares in enumerate(call.of("shares")) if not shares]
    return words("gradient-never-asked", rank=ranks[0]) if ranks and not no_full_batch(call) else None


def shared_batches(call: Call) -> Wrong | None:
    """The ranks share each batch: no sample is used by all of them, and none has two more than another."""
    if wrong := never_asked(call):
        return wrong
    steps, size, batch_size = steps_of(call), call.size, call.arguments["batch_size"]
    local_size = call.arguments["local_size"]
    for step, own in enumerate(steps):
        for rank, samples in enumerate(own):
            if -1 in samples:
                return words("pairs-unknown", step=step, rank=rank)
    for step, own in enumerate(steps):
        if size > 1 and len(own[0]) > 1 and all(sorted(samples) == sorted(own[0]) for samples in own):
            return words("whole-batch-on-every-rank", step=step, n=len(own[0]), size=size)
    by_local_rank = all(samples == own[rank % local_size] for own in steps for rank, samples in enumerate(own))
    if size > local_size and by_local_rank and any(unions_of(call)):
        return words("batch-share-by-local-rank", local_size=local_size)
    for step, counts in enumerate([*map(len, own)] for own in steps):
        n = sum(counts)
        if n > batch_size:
            return words("batch-size-per-rank", step=step, n=n, batch_size=batch_size)
        if max(counts) - min(counts) > 1:
            return words("shares-of-a-batch-differ", step=step, n=n, counts=counts)
    return None


def new_orders(call: Call) -> Wrong | None:
    """Each epoch visits each sample once, in an order that the ranks share, and that follows from the seed."""
    if wrong := never_asked(call):
        return wrong
    unions, about = unions_of(call), call.arguments
    n, batch_size, epochs = (about[name] for name in ("samples", "batch_size", "epochs"))
    if no_full_batch(call):
        return shares.each_sample_once([[]], n, f": where `batch_size` is {batch_size}, your loop makes no step")
    lengths = -(-n // batch_size), n // batch_size
    per_epoch = next((each for each in lengths if len(unions) == each * epochs), 0)
    if not per_epoch:
        return words("steps-missing", **about, expected=lengths[0] * epochs, actual=len(unions))
    orders = [unions[begin : begin + per_epoch] for begin in range(0, len(unions), per_epoch)]
    if wrong := shares.each_sample_once(orders, n):
        again = wrong.key == "samples-used-again"
        return (own_orders(call, wrong.facts, per_epoch) if again else None) or wrong
    if wrong := shares.new_orders(orders):
        return wrong
    same, previous = call.of("before") == call.of("shares"), about["previous_seed"]
    return None if previous is None else shares.orders_by_seed(same, about["seed"], previous)


def own_orders(call: Call, about: Mapping[str, Any], per_epoch: int) -> Wrong | None:
    """What is wrong if an epoch has samples twice, as each rank goes through an order of its own. about: the epoch, and
    how many are there twice."""
    steps = steps_of(call)[about["epoch"] * per_epoch : (about["epoch"] + 1) * per_epoch]
    by_rank = [[sample for samples in own for sample in samples] for own in zip(*steps, strict=True)]
    return words("rank-has-its-own-order", **about) if all(len(own) == len({*own}) for own in by_rank) else None
