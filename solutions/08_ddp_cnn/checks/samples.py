"""The batches that the ranks draw, beside what a DistributedSampler deals out, and what known mistakes draw instead."""

from torch.utils.data import DistributedSampler

from autograde.rubric import Mistakes, Same, Words, changed, first_of, on_ranks, once

words = Words("""
nothing-trained: On {who} the model is never called with gradients.

not-its-batches: Rank {rank} trains on the batches {actual} ... in epoch 0; expected are {expected} ..., as a
DistributedSampler deals them out, for {size:rank}, that shuffles with seed {seed}.
""")


def deal(about, size=None, numbers=None, batch=None, told=None, seed=None, shuffle=True, drop=False, full=False):
    """By rank, the batches of all epochs. about: arguments of a call.

    size, numbers: how many ranks the sampler is for, and by rank the number it is told. batch: of a rank. told: the
    number of each epoch. seed, shuffle, drop: of the sampler, which may drop what cannot be shared. full: whether the
    loader leaves the last, smaller batch out.
    """
    n, ranks = about["samples"], len(about["models"])
    most, seed = batch or about["batch_size"] // ranks, about["seed"] if seed is None else seed
    dealt = []
    for number in numbers or range(ranks):
        sampler = DistributedSampler(range(n), size or ranks, number, shuffle=shuffle, seed=seed, drop_last=drop)
        own = []
        for epoch in told or range(about["epochs"]):
            sampler.set_epoch(epoch)
            ids = [*sampler]
            own += [ids[at : at + most] for at in range(0, len(ids), most)]
        dealt.append([each for each in own if len(each) == most or not full])
    return dealt


def due(call, **how):
    return deal(call.arguments, **how)


@once
def batches(call):
    return [[each.ids for each in seen.passes] for seen in call.seen]


def not_its_batches(call, off):
    rank = off.place[0] if off.place else 0
    shown = {"actual": str(batches(call)[rank][:2]), "expected": str(due(call)[rank][:2])}
    shown |= {"drawn": sum(map(len, batches(call)[rank])) // call.arguments["epochs"]}
    own = sum(map(len, due(call)[rank])) // call.arguments["epochs"]
    return words("not-its-batches", rank=rank, size=call.size, seed=call.arguments["seed"], own=own, **shown)


def trained_at_all(call):
    return words.on_ranks("nothing-trained", [rank for rank, own in enumerate(batches(call)) if not own])


def shown_twice(call):
    """Whether a rank's batches are all there, and some of them more than once."""
    pairs = [*zip(batches(call), due(call), strict=True)]
    more = [rank for rank, (own, right) in enumerate(pairs) if len(own) > len(right)]
    return bool(more) and all({*map(tuple, own)} == {*map(tuple, right)} for own, right in pairs)


@once
def drawn(call):
    """The batches that were trained on, by rank: as drawn, where the ranks make equally many steps in each epoch."""
    if shown_twice(call):
        return due(call)
    counts = {len(own) for own in batches(call)}
    known = all(0 <= number < call.arguments["samples"] for own in batches(call) for ids in own for number in ids)
    even = len(counts) == 1 and counts != {0} and min(counts) % call.arguments["epochs"] == 0
    return batches(call) if known and even and all(all(own) for own in batches(call)) else None


def lacking_pass(call, way):
    """The ranks on which a batch has no pass of this way: "training", or "through" the wrapper."""
    return [
        rank
        for rank, seen in enumerate(call.seen)
        if not {tuple(each.ids) for each in seen.passes}
        <= {tuple(each.ids) for each in seen.passes if getattr(each, way)}
    ]


def first_epochs(call):
    return [0] * call.arguments["epochs"]


def whole_batch(call):
    return call.arguments["batch_size"]


def local_numbers(call):
    return [rank % call.arguments["local_size"] for rank in range(call.size)]


EACH_ALL = {"size": 1, "numbers": lambda call: [0] * call.size}
DRAWN = Same(batches, due, on_ranks("the list of batches", "batch"), otherwise=not_its_batches)
SAMPLES = first_of(trained_at_all, DRAWN)
OTHER_SAMPLES = Mistakes(
    """
    batch-shown-twice: The model is called with a batch of rank {rank} more than once, with gradients. One forward pass
    gives loss and gradient.

    same-epoch-again: In epoch 1 the samples come in the order of epoch 0, and so in all epochs. What tells the sampler
    which epoch it is?

    epochs-from-one: In epoch 0 the samples come in the order of epoch 1: epochs are told from 0.

    in-their-own-order: The samples come in their own order. They are to be shuffled, with `seed`.

    other-seed: The samples come in an order of another seed than `seed`, which is {seed}.

    short-batch-dropped: The last, smaller batch of each epoch is left out: rank {rank} draws {drawn} samples an epoch,
    where {own} are its own.

    batch-size-on-each-rank: Each of {size} ranks takes {batch_size} samples in a step, so a step has {size} times
    `batch_size` of them. `batch_size` is that of all ranks together.

    not-shared: Every rank draws all {samples} samples. What does a sampler have to know to deal out a part?

    samples-dropped: Samples that the ranks cannot share evenly are left out: rank {rank} draws {drawn} in an epoch, and
    {own} are expected, some of them twice.

    shared-by-local-rank: Two ranks on different nodes draw the same samples: they are dealt out by the number on the
    node. Which number does each rank have for itself?
    """,
    changed(
        due,
        same_epoch_again={"told": first_epochs},
        epochs_from_one={"told": lambda call: range(1, 1 + call.arguments["epochs"])},
        in_their_own_order={"shuffle": False},
        other_seed=[{"seed": 0}, {"seed": 0, "told": first_epochs}],
        short_batch_dropped={"full": True},
        batch_size_on_each_rank=[{"batch": whole_batch}, {"batch": whole_batch, "told": first_epochs}],
        not_shared=[EACH_ALL, {**EACH_ALL, "batch": whole_batch}],
        samples_dropped={"drop": True},
        shared_by_local_rank=[
            {"numbers": local_numbers},
            {"numbers": local_numbers, "size": lambda call: call.arguments["local_size"]},
        ],
    ),
    batch_shown_twice=shown_twice,
)
