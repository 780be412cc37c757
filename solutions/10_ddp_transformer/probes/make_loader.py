"""Calls of `make_loader`, and passes over what it makes. The ranks are those of nodes of two."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.evidence import Evidence
from autograde.fixtures.awkward_translator import number_of
from autograde.probes.simulated_node import seeded_apart, simulated_node
from course.models.translator.sentences import collate

from ..shared.model import given_names


class Seen(Evidence):
    """passes: numbers of the pairs drawn, by pass and batch. alike: whether all tensors are those that `collate` makes
    of them. problem: why it is no loader of batches; empty if it is one."""

    passes: list[list[list[int | None]]]
    alike: bool
    problem: str


def batches_of(loader: Any) -> list[tuple[torch.Tensor, ...]]:
    """The batches of a pass. Raises whatever a loader raises, and TypeError for other batches."""
    batches = [(src, tgt_in, tgt_out) for src, tgt_in, tgt_out in loader]
    for batch in batches:
        if any(tensor.dim() != 2 or tensor.dtype != torch.int64 for tensor in batch):
            raise TypeError(f"{[(tensor.dtype, [*tensor.shape]) for tensor in batch]}")
    return batches


def call(make_loader: Callable, rank: CallRank, call: dict) -> Seen:
    """A loader for each seed, and its epochs."""
    pairs, passes, alike = [(source, target) for source, target in call["pairs"]], [], True
    with seeded_apart(rank.rank), simulated_node(rank.rank % 2, 2):
        loaders = [make_loader(pairs, call["batch_size"], seed) for _, _, seed in call["samplers"]]
        try:
            for which, epoch in call["passes"]:
                getattr(loaders[which].sampler, "set_epoch", lambda epoch: None)(epoch)
                batches = batches_of(loaders[which])
                numbers = [[number_of(row.tolist(), pairs) for row in src] for src, _, _ in batches]
                known = [[pairs[number] for number in each if number is not None] for each in numbers]
                made = [collate(each) for each in known if each]
                alike &= [[tensor.tolist() for tensor in each] for each in batches] == [
                    [tensor.tolist() for tensor in each] for each in made
                ]
                passes.append(numbers)
        except Exception as error:  # whatever a loader raises, it is none of batches
            return Seen([[] for _ in call["passes"]], False, f"{type(error).__name__}: {error}"[:300])
    return Seen(passes, alike, "")


PROBE = CallProbe(Seen, call, given_names, needs="torch", deadline=10)
