"""Which samples the ranks of `distributed_path` used in which step: batches, shared out evenly, in new orders."""

from autograde.rubric import Words, each_sample_once, mistakes_by_rank, new_orders, once, orders_by_seed

words = Words("""
gradient-never-asked: Rank {rank} never calls `distributed_gradient`. Every step takes its gradient from it, on every
rank: it is where the ranks' samples meet.

pairs-unknown: In step {step}, rank {rank} gives `distributed_gradient` samples that are not among x and y as they
belong together. Is each x beside its own y, and in float64?

batch-size-per-rank: The batch of step {step} has {n:sample} on all ranks together. `batch_size` is {batch_size}, and
counts the samples of a step on all ranks.

shares-of-a-batch-differ: The batch of step {step} has {n:sample}, and the ranks take {counts} of them. Shares should
differ by one at most.

rank-has-its-own-order: In epoch {epoch}, several ranks use the same samples ({twice} in all). The ranks do not share
one order: what do they draw from, and in which state is it on each of them?

steps-missing: With {samples:sample}, batch_size {batch_size} and {epochs:epoch}, {due:step} are expected. Your function
asks for {there:gradient}.
""")


def asked_twice(call):
    """Whether all steps ask for two gradients of the same samples."""
    n = len(call.seen[0].shares)
    return (
        n > 0
        and all(own[::2] == own[1::2] for own in call.of("shares"))
        and all(len(path.rows) == n // 2 + 1 for path in call.of("path"))
    )


@once
def steps_of(call):
    """By step: the numbers of each rank's samples."""
    every = 2 if asked_twice(call) else 1
    return [*zip(*(own[::every] for own in call.of("shares")), strict=False)]


@once
def unions_of(call):
    """By step: the numbers of all ranks' samples."""
    return [[sample for own in step for sample in own] for step in steps_of(call)]


def no_full_batch(call):
    """Whether a loop over full batches makes no step, as there is none."""
    few = call.arguments["samples"] < call.arguments["batch_size"]
    return few and not any(call.of("shares")) and all(len(path.rows) == 1 for path in call.of("path"))


def never_asked(call):
    ranks = [rank for rank, shares in enumerate(call.of("shares")) if not shares]
    return words("gradient-never-asked", rank=ranks[0]) if ranks and not no_full_batch(call) else None


def fair_shares(call):
    batch_size = call.arguments["batch_size"]
    for step, own in enumerate(steps_of(call)):
        if unknown := [rank for rank, samples in enumerate(own) if -1 in samples]:
            return words("pairs-unknown", step=step, rank=unknown[0])
    for step, counts in enumerate([*map(len, own)] for own in steps_of(call)):
        about = {"step": step, "n": sum(counts), "counts": counts, "batch_size": batch_size}
        if sum(counts) > batch_size:
            return words("batch-size-per-rank", **about)
        if max(counts) - min(counts) > 1:
            return words("shares-of-a-batch-differ", **about)
    return None


def taken(call):
    """By rank and step, its samples; nothing where they are unknown."""
    by_rank = [[sorted(step) for step in own] for own in zip(*steps_of(call), strict=True)]
    return [] if any(-1 in union for union in unions_of(call)) else by_rank


SHARES = mistakes_by_rank(taken, "the whole of each batch")


def shared_orders(call):
    """Each epoch visits each sample once, in an order that the ranks share, and that follows from the seed."""
    unions, about = unions_of(call), call.arguments
    n, batch_size, epochs = (about[name] for name in ("samples", "batch_size", "epochs"))
    if no_full_batch(call):
        return each_sample_once([[]], n, f": where `batch_size` is {batch_size}, your loop makes no step")
    lengths = -(-n // batch_size), n // batch_size
    per_epoch = next((each for each in lengths if len(unions) == each * epochs), 0)
    if not per_epoch:
        return words("steps-missing", **about, due=lengths[0] * epochs, there=len(unions))
    orders = [unions[begin : begin + per_epoch] for begin in range(0, len(unions), per_epoch)]
    if wrong := each_sample_once(orders, n):
        apart = wrong.key == "samples-used-again" and apart_in(call, wrong.facts["epoch"], per_epoch)
        return words("rank-has-its-own-order", **wrong.facts) if apart else wrong
    previous, same = about["previous_seed"], call.of("before") == call.of("shares")
    return new_orders(orders) or (None if previous is None else orders_by_seed(same, about["seed"], previous))


def apart_in(call, epoch, per_epoch):
    """Whether each rank goes through an order of its own in an epoch."""
    steps = steps_of(call)[epoch * per_epoch : (epoch + 1) * per_epoch]
    by_rank = [[sample for samples in own for sample in samples] for own in zip(*steps, strict=True)]
    return all(len(own) == len({*own}) for own in by_rank)
