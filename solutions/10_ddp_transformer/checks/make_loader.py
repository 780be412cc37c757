"""The check of `make_loader`."""

from __future__ import annotations

import os
import random
from collections.abc import Iterable, Sequence
from itertools import chain
from operator import eq
from typing import Any

import torch
from torch.utils.data import DistributedSampler

from autograde.contract.findings import Findings
from autograde.contract.rank_check import Rank, RankCheck
from autograde.contract.schema import array, integer, optional, record, string
from autograde.contract.verdict import Diagnosis, Finding
from autograde.fixtures.awkward_translator import draw_pairs, number_of
from autograde.verdicts import orders, shards
from autograde.verdicts.diagnosis import diagnose
from autograde.verdicts.judged import JudgedRun
from course.models.sentences import PAD, collate, loss_fn

finding = Findings("""
not-a-loader 3
What is returned is not a loader of batches (src, tgt_in, tgt_out) of int64 tensors: {problem}

another-collate 1.5
The tensors in the batches are not those that the given `collate` makes of their pairs.
""")


class MakeLoader(RankCheck, JudgedRun):
    """Every rank's sentences in each epoch, and their batches. The ranks are those of two simulated nodes."""

    todo, points, needs, deadline = "make_loader", 3, "torch", 10
    consolidation = (
        "The sampler decides which pairs are a rank's, and `collate` makes tensors of them. All ranks draw equally "
        "many, so each of them has a part in every step."
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """Pairs that the ranks cannot share evenly; a single one; fewer than there are ranks.

        Who drops what is left over among the ranks, and who drops the last batch, draw another number in each.
        """
        sets = [(4, 4 * rng.choice((4, 7)) + 2, 3), (3, 3 * rng.randint(5, 6) + 1, 4), (2, 1, 2)]
        ### BEGIN HIDDEN CASES
        sets += [(4, 3, 5), (2, 2 * rng.choice((5, 7)) + 1, 2)]
        ### END HIDDEN CASES
        return [self.draw(rng, size, count, batch_size) for size, count, batch_size in sets]

    def draw(self, rng: random.Random, size: int, count: int, batch_size: int) -> dict:
        """One case: two epochs of so many pairs."""
        epochs, seed = [0, rng.randint(2, 9)], rng.randint(1, 10**6)
        return {
            "size": size,
            "seed": seed,
            "pairs": draw_pairs(rng, count),
            "epochs": epochs,
            "batch_size": batch_size,
        }

    @staticmethod
    def run(rank: Rank, subject: Any, case: dict) -> dict:
        """What the student's loader yields in each epoch."""
        os.environ["LOCAL_RANK"] = str(rank.rank % 2)
        torch.manual_seed(rank.rank)
        make_loader = subject.load(collate=collate, PAD=PAD, loss_fn=loss_fn)
        loader = make_loader([(source, target) for source, target in case["pairs"]], case["batch_size"], case["seed"])
        epochs: list = []
        try:
            for epoch in case["epochs"]:
                getattr(loader.sampler, "set_epoch", lambda epoch: None)(epoch)
                epochs.append([])
                for src, tgt_in, tgt_out in loader:
                    tensors = (src, tgt_in, tgt_out)
                    if any(tensor.dim() != 2 or tensor.dtype != torch.int64 for tensor in tensors):
                        raise TypeError(f"{[(tensor.dtype, list(tensor.shape)) for tensor in tensors]}")
                    epochs[-1].append([tensor.tolist() for tensor in tensors])
        except Exception as error:
            return {"epochs": None, "problem": f"{type(error).__name__}: {error}"}
        return {"epochs": epochs, "problem": None}

    def shape(self, case: dict) -> dict:
        """Rows of ids of each batch of each epoch, or what was wrong with them."""
        batch = array(array(array(integer())), 3)
        return record(epochs=optional(array(array(batch), len(case["epochs"]))), problem=optional(string()))

    def judge(self, case: dict, results: list[dict]) -> Iterable[Finding | Diagnosis]:
        """Compare with what DistributedSampler and `collate` make."""
        if unfit := [of_rank["problem"] for of_rank in results if of_rank["epochs"] is None]:
            return [finding("not-a-loader", problem=unfit[0])]
        pairs = case["pairs"]
        drawn = [
            [[[number_of(row, pairs) for row in batch[0]] for batch in of_rank["epochs"][place]] for of_rank in results]
            for place in range(len(case["epochs"]))
        ]  # [epoch][rank][batch]
        if found := shards.loader_mistakes(len(pairs), case["batch_size"], drawn):
            return found
        order = order_mistake(case, [[[*chain(*batches)] for batches in ranks] for ranks in drawn])
        if order.otherwise is None and any(
            [tensor.tolist() for tensor in collate([pairs[number] for number in numbers])] != list(batch)
            for place, ranks in enumerate(drawn)
            for own, batches in zip(results, ranks, strict=True)
            for numbers, batch in zip(batches, own["epochs"][place], strict=True)
        ):
            return [order, finding("another-collate")]
        return [order]


def order_mistake(case: dict, actual: list[list[list[int]]]) -> Diagnosis:
    """What shares that are right in number say of the order in which they were dealt out. actual: [epoch][rank]."""
    n, size, epochs, seed = len(case["pairs"]), case["size"], case["epochs"], case["seed"]
    expected = [dealt_by_torch(n, size, seed, epoch) for epoch in epochs]
    by_rank = [[dealt_by_torch(n, size, seed + rank, epoch)[rank] for rank in range(size)] for epoch in epochs]
    candidates = {
        "not-shuffled": [dealt_by_torch(n, size, 0, 0, shuffle=False)] * len(epochs),
        "same-order-every-epoch": [expected[0]] * len(epochs),
        "seed-ignored": [dealt_by_torch(n, size, 0, epoch) for epoch in epochs],
        "overlapping-shards": by_rank,
    }
    words = {"epochs": " and ".join(map(str, epochs)), "epoch": epochs[0], "seeds": f"0 and {seed}"}

    def known(key: str) -> Finding:
        about = shards.facts(n, actual[0])
        return shards.finding(key, **about) if key in shards.finding.known else orders.finding(key, **words)

    wrong = next((place for place, pair in enumerate(zip(actual, expected, strict=True)) if pair[0] != pair[1]), None)
    otherwise = "wrong-order" if wrong is None else shards.wrong_order(n, actual[wrong], expected[wrong])
    return diagnose("order", actual, expected, candidates, known, otherwise, eq)


def dealt_by_torch(count: int, size: int, seed: int, epoch: int, shuffle: bool = True) -> list[list[int]]:
    """For each of `size` ranks the numbers of its pairs, of `count`, as a DistributedSampler deals them out."""
    dealt: list[Sequence[int]] = []
    for rank in range(size):
        sampler = DistributedSampler(range(count), size, rank, shuffle=shuffle, seed=seed)
        sampler.set_epoch(epoch)
        dealt.append(list(sampler))
    return dealt


CHECK = MakeLoader()
