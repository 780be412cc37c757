"""Which samples the ranks of `distributed_path` used in which step: whether these are batches, shared out evenly."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from math import factorial, prod

from autograde.contract.findings import Findings
from autograde.contract.verdict import Finding
from autograde.verdicts.judged import Call
from autograde.verdicts.orders import finding as of_orders

MANY = 1e6  # in so many ways can samples be put into batches, so that it is hardly ever the same by chance

LOCAL_SIZE = 2  # ranks on each of the nodes that the check simulates

finding = Findings("""
pairs-unknown 3
In step {step}, rank {rank} gives `distributed_gradient` samples that are not among x and y as they belong together. Is
each x beside its own y, and in float64?

whole-batch-on-every-rank 3
In step {step}, every rank gives `distributed_gradient` the same {n} samples. The path is right, and each of {size}
ranks does all of the work. Which part of a batch is this rank's?

batch-share-by-local-rank 3
In every step, ranks with the same local rank use the same samples. The check simulates nodes with {local} ranks each,
on each of which local ranks count from 0. Which number does a rank have among all of them?

batch-size-per-rank 2
The batch of step {step} has {n} samples on all ranks together. `batch_size` is {batch_size}, and counts the samples of
a step on all ranks.

rank-has-its-own-order 3
In {where}, several ranks use the same samples ({twice} in all). The ranks do not share one order: what do they draw
from, and in which state is it on each of them?

samples-left-out 2
In epoch {epoch}, {lost} of {n} samples are used by no rank{loop}. What becomes of those that are left over when a batch
is shared out, or the samples are cut into batches?

samples-used-again 3
In epoch {epoch}, {twice} of {n} samples are used more than once. An epoch visits each sample once.

steps-missing 3
With {n} samples, batch_size {batch_size} and {epochs} epochs, {expected} steps are expected. Your function asks for
{actual} gradients.

shares-of-a-batch-differ 1.5
The batch of step {step} has {n} samples, and the ranks take {counts} of them. Shares should differ by one at most.
""")


def batch_mistakes(call: Call) -> list[Finding]:
    """What is wrong with the batches of one call."""
    plan, shares = call.plan, call.of("shares")
    size, n, batch_size, epochs = call.size, plan["samples"], plan["batch_size"], plan["epochs"]
    steps = list(zip(*shares, strict=True))  # by step: the samples of each rank
    for step, own in enumerate(steps):
        for rank, samples in enumerate(own):
            if -1 in samples:
                return [finding("pairs-unknown", step=step, rank=rank)]
    for step, own in enumerate(steps):
        if size > 1 and len(own[0]) > 1 and all(sorted(samples) == sorted(own[0]) for samples in own):
            return [finding("whole-batch-on-every-rank", step=step, n=len(own[0]), size=size)]
    unions = [[sample for samples in own for sample in samples] for own in steps]
    alike = all(samples == own[rank % LOCAL_SIZE] for own in steps for rank, samples in enumerate(own))
    if size > LOCAL_SIZE and alike and any(unions):
        return [finding("batch-share-by-local-rank", local=LOCAL_SIZE)]
    for step, union in enumerate(unions):
        if twice := len(union) - len({*union}):
            return [finding("rank-has-its-own-order", where=f"step {step}", twice=twice)]
    for step, union in enumerate(unions):
        if len(union) > batch_size:
            return [finding("batch-size-per-rank", step=step, n=len(union), batch_size=batch_size)]
    return epochs_of(steps, n, batch_size, epochs) or shared_out(steps)


def asked_once(call: Call) -> Call:
    """The call as if each step had asked for one gradient, where all of them asked for two of the same samples; else
    the call itself."""
    shares = call.of("shares")
    n = len(shares[0])
    twice = all(own[::2] == own[1::2] for own in shares) and all(len(rows) == n // 2 + 1 for rows in call.of("rows"))
    return replace(call, shown=[{**shown, "shares": shown["shares"][::2]} for shown in call.shown]) if twice else call


def no_step(n: int, batch_size: int) -> Finding:
    """The finding for a loop that makes no step, as there is no full batch."""
    loop = f": where `batch_size` is {batch_size}, your loop makes no step"
    return finding("samples-left-out", epoch=0, lost=n, n=n, loop=loop)


def epochs_of(steps: list[tuple[list[int], ...]], n: int, batch_size: int, epochs: int) -> list[Finding]:
    """What is wrong with the samples of whole epochs. steps: the samples of each rank, by step."""
    unions = [[sample for samples in own for sample in samples] for own in steps]
    each, full = -(-n // batch_size), n // batch_size
    per_epoch = each if len(unions) == each * epochs else full if len(unions) == full * epochs else 0
    if not per_epoch:
        about = {"expected": each * epochs, "actual": len(unions), "epochs": epochs}
        return [finding("steps-missing", n=n, batch_size=batch_size, **about)]
    orders = []
    for epoch in range(epochs):
        mine = unions[epoch * per_epoch : (epoch + 1) * per_epoch]
        used = [sample for union in mine for sample in union]
        if twice := len(used) - len({*used}):
            by_rank = zip(*steps[epoch * per_epoch : (epoch + 1) * per_epoch], strict=True)
            if all(len(own) == len({*own}) for own in map(list, map(chain.from_iterable, by_rank))):
                return [finding("rank-has-its-own-order", where=f"epoch {epoch}", twice=twice)]
            return [finding("samples-used-again", epoch=epoch, twice=twice, n=n)]
        if lost := n - len(used):
            return [finding("samples-left-out", epoch=epoch, lost=lost, n=n, loop="")]
        orders.append([sorted(union) for union in mine])
    in_order = [list(range(start, min(start + batch_size, n))) for start in range(0, n, batch_size)]
    ways = factorial(n) / prod(factorial(len(batch)) for batch in in_order)
    if ways ** (epochs - 1) > MANY and all(order == orders[0] for order in orders):
        names = ", ".join(map(str, range(epochs)))
        return [of_orders("same-order-every-epoch", epochs=names)]
    return [of_orders("not-shuffled")] if ways > MANY and orders[0] == in_order else []


def shared_out(steps: list[tuple[list[int], ...]]) -> list[Finding]:
    """A finding for a batch of which ranks have unequal shares. steps: the samples of each rank, by step."""
    for step, own in enumerate(steps):
        counts = [len(samples) for samples in own]
        if max(counts) - min(counts) > 1:
            return [finding("shares-of-a-batch-differ", step=step, n=sum(counts), counts=", ".join(map(str, counts)))]
    return []
