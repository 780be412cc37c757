"""Calls of `samples_seen`, with a loader whose ids tell epoch, rank and place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

from torch.utils.data import DataLoader, Sampler

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.evidence import Evidence, unjudged
from autograde.probes.sampler_passes import Ids, kind_of


@unjudged(one="it chooses words")
class Seen(Evidence):
    """What a rank returned. kind: its type. flat: whether it is one list of ids, which is cut into epochs here.
    batches: whether lists hold whole batches, which are taken apart here. one: whether the lists of all epochs are one
    and the same. lists: by epoch."""

    kind: str
    flat: bool
    batches: bool
    one: bool
    lists: list[Ids]


class Blocks(Sampler):
    """Yields block number epoch + 1 of this rank's places; block 0 before it is set to an epoch, and the last block if
    that is none of those that a block is left for."""

    def __init__(self, case: dict, rank: int, size: int) -> None:
        self.own, self.blocks = case["own"], len(case["ids"]) // (case["own"] * size)
        self.rank, self.size, self.set_to = rank, size, None

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch."""
        self.set_to = epoch

    def __iter__(self) -> Iterator[int]:
        known = self.set_to is None or 0 <= self.set_to < self.blocks - 2
        block = 0 if self.set_to is None else int(self.set_to) + 1 if known else self.blocks - 1
        return iter(range((block * self.size + self.rank) * self.own, (block * self.size + self.rank + 1) * self.own))

    def __len__(self) -> int:
        return self.own


def names(rank: CallRank, case: dict) -> dict[str, Any]:
    """Nothing; all calls of a case get one loader."""
    sampler = Blocks(case, rank.rank, rank.size)
    rank.notes["loader"] = DataLoader(case["ids"], batch_size=case["batch_size"], sampler=sampler)
    return {}


def is_list(value: Any) -> bool:
    """Whether this is a list, or a batch."""
    return isinstance(value, (list, tuple)) or getattr(value, "ndim", 0) > 0


def call(samples_seen: Callable, rank: CallRank, call: dict) -> Seen:
    """One call."""
    loader, epochs = rank.notes["loader"], call["epochs"]
    own, most = len(loader.sampler), len(loader.dataset)
    value = samples_seen(loader, epochs)
    lists = [*value.values()] if isinstance(value, dict) else [*value[:most]] if is_list(value) else []
    flat = len(lists) > 0 and not any(map(is_list, lists))
    if flat:
        lists = [lists[begin : begin + own] for begin in range(0, len(lists), own)]
    entries = [[*each[:most]] if is_list(each) else [] for each in lists[: epochs + 10]]
    one = len(lists) > 1 and is_list(lists[0]) and all(each is lists[0] for each in lists)
    batches = any(is_list(entry) for each in entries for entry in each)
    parts = [chain.from_iterable(one if is_list(one) else [one] for one in each) for each in entries]
    ids = [Ids.of(each, most) for each in parts]
    found = [Ids(kind_of(each), own.ids, own.kinds) for each, own in zip(lists, ids, strict=False)]
    return Seen(kind_of(value), flat, batches, one, found)


PROBE = CallProbe(Seen, call, names)
