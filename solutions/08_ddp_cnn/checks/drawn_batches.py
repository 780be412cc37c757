"""Which samples the ranks drew, beside what a DistributedSampler deals out, and what known mistakes draw instead."""

from __future__ import annotations

from collections.abc import Sequence

from torch.utils.data import DistributedSampler

from autograde.contract.findings import Findings
from autograde.contract.verdict import Diagnosis, Finding
from autograde.verdicts.diagnosis import diagnose

Drawn = list[list[list[int]]]  # by rank, the batches of all epochs, each a list of samples

finding = Findings("""
nothing-trained 5
On rank {rank} the model is never called with gradients.

batch-size-on-each-rank 2
Each of {size} ranks takes {batch_size} samples in a step, so a step has {size} times `batch_size` of them. `batch_size`
is that of all ranks together.

same-epoch-again 1.5
In epoch 1 the samples come in the order of epoch 0, and so in all epochs. What tells the sampler which epoch it is?

epochs-from-one 1
In epoch 0 the samples come in the order of epoch 1: epochs are told from 0.

not-shared 2
Every rank draws all {samples} samples. What does a sampler have to know to deal out a part?

shared-by-local-rank 2
On nodes with {local} ranks each, two ranks draw the same samples: they are dealt out by the number on the node. Which
number does each rank have for itself?

in-their-own-order 1.5
The samples come in their own order. They are to be shuffled, with `seed`.

other-seed 1.5
The samples come in an order of another seed than `seed`, which is {seed}.

short-batch-dropped 1.5
The last, smaller batch of each epoch is left out: rank 0 draws {actual} samples an epoch, where {expected} are its own.

samples-dropped 1.5
Samples that the ranks cannot share evenly are left out: rank 0 draws {actual} in an epoch, and {expected} are expected,
some of them twice.

batch-shown-twice 1.5
The model is called with a batch of rank {rank} more than once, with gradients. One forward pass gives loss and
gradient.

not-its-batches 3
Rank {rank} trains on the batches {actual} ... in epoch 0; expected are {expected} ..., as a DistributedSampler deals
them out, for {size} ranks, that shuffles with seed {seed}.
""")


def deal(case: dict, rank: int, **how: object) -> list[list[int]]:
    """The batches of a rank in all epochs. how: what is done otherwise than it should be.

    size, rank: told to the sampler. batch: of a rank. epochs: the numbers that it is told. seed, shuffle, drop_last: of
    the sampler. drop: whether the loader leaves the last, smaller batch out.
    """
    given = {"size": case["size"], "rank": rank, "batch": case["batch_size"] // case["size"]}
    given |= {"epochs": range(case["epochs"]), "seed": case["seed"], "shuffle": True, "drop_last": False, "drop": False}
    given |= how
    sampler = DistributedSampler(
        range(case["samples"]),
        given["size"],
        given["rank"],
        shuffle=given["shuffle"],
        seed=given["seed"],
        drop_last=given["drop_last"],
    )
    batches = []
    for epoch in given["epochs"]:
        sampler.set_epoch(epoch)
        ids, most = [*sampler], given["batch"]
        cut = [ids[start : start + most] for start in range(0, len(ids), most)]
        batches += [each for each in cut if len(each) == given["batch"]] if given["drop"] else cut
    return batches


def expected_batches(case: dict) -> Drawn:
    """What the ranks are to draw."""
    return [deal(case, rank) for rank in range(case["size"])]


def batch_mistakes(case: dict, drawn: Drawn) -> list[Finding | Diagnosis]:
    """What is wrong with the batches that the ranks drew."""
    size, local, whole = case["size"], case["local_size"], case["batch_size"]
    for rank, own in enumerate(drawn):
        if not own:
            return [finding("nothing-trained", rank=rank)]
    ways: dict[str, dict] = {
        "same-epoch-again": {"epochs": [0] * case["epochs"]},
        "epochs-from-one": {"epochs": range(1, case["epochs"] + 1)},
        "in-their-own-order": {"shuffle": False},
        "other-seed": {"seed": 0},
        "other-seed/anew": {"seed": 0, "epochs": [0] * case["epochs"]},
        "short-batch-dropped": {"drop": True},
    }
    if size > 1:
        ways |= {
            "batch-size-on-each-rank": {"batch": whole},
            "batch-size-on-each-rank/not told": {"batch": whole, "epochs": [0] * case["epochs"]},
            "not-shared": {"size": 1, "rank": 0},
            "not-shared/whole": {"size": 1, "rank": 0, "batch": whole},
            "samples-dropped": {"drop_last": True},
        }
    candidates = {key: [deal(case, **{"rank": rank, **how}) for rank in range(size)] for key, how in ways.items()}
    if size > local > 1:
        numbers = [rank % local for rank in range(size)]
        candidates["shared-by-local-rank"] = [deal(case, number, size=local) for number in numbers]
        candidates["shared-by-local-rank/of all"] = [deal(case, number) for number in numbers]
        batch = whole // local
        own = [deal(case, number, size=local, batch=batch) for number in numbers]
        candidates["shared-by-local-rank/batch"] = own
    expected = expected_batches(case)
    wrong = next((rank for rank in range(size) if drawn[rank] != expected[rank]), 0)
    if len(drawn[wrong]) > len(expected[wrong]) and set(map(tuple, drawn[wrong])) == set(map(tuple, expected[wrong])):
        return [finding("batch-shown-twice", rank=wrong)]
    of_epoch = len(expected[0]) // case["epochs"]
    about = {"size": size, "local": local, "batch_size": whole, "samples": case["samples"], "seed": case["seed"]}
    about |= {"rank": wrong, "expected": sum(map(len, expected[0][:of_epoch]))}
    about["actual"] = sum(map(len, drawn[0])) // case["epochs"]

    def made(key: str) -> Finding:
        shown = {"actual": drawn[wrong][:2], "expected": expected[wrong][:2]} if key == "not-its-batches" else {}
        return finding(key, **about | shown)

    return [diagnose("batches", drawn, expected, candidates, made, "not-its-batches", same_lists)]


def same_lists(actual: Sequence, expected: Sequence) -> bool:
    """Whether these are the same numbers."""
    return actual == expected
