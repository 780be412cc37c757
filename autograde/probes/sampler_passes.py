"""What samplers yield, as plain data, and what becomes of the global random generators meanwhile."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from operator import index
from typing import Any

from autograde.contract.call_probe import CallRank
from autograde.contract.evidence import Evidence, decoded, unjudged
from autograde.probes.fresh_process import FreshProcess

PATIENCE = 20.0  # seconds that another process may take; it takes two, on a machine that has nothing else to do


@unjudged(type="it chooses words")
class Ids(Evidence):
    """A value where a list of ints is expected: what `listed` gives."""

    type: str
    ids: list[int | None]
    kinds: list[str]

    @classmethod
    def of(cls, values: Any, most: int) -> Ids:
        """What a function returned; anything."""
        return decoded(cls, listed(values, most))


class Pass(Ids):
    """A pass over a sampler. length: the sampler's `len`."""

    length: int


@unjudged(error="it chooses words")
class Passes(Evidence):
    """The passes of a rank. drawn: what the global generators of torch, Python and numpy give after them. derived:
    whether the class is a Sampler. other, error: on rank 0, ids by rank and pass in another process, or what went wrong
    there."""

    passes: list[Pass]
    drawn: list[float]
    derived: bool
    other: list[list[list[int | None]]] | None = None
    error: str = ""


def shown_passes(sampler_class: Any, rank: CallRank, setter: str, call: dict, shares: Sequence = ()) -> Passes:
    """All passes of a plan; with `salt`, rank 0 makes those of all ranks in another process, too.

    setter, call: as of `passes_of`, with `luck`, of rank 0, and `salt`. shares: as of `known_shards`.
    """
    plan, luck = {**call, "size": rank.size}, call["luck"] + rank.rank
    if rank.rank > 0 or not call["salt"]:
        return decoded(Passes, passes_of(sampler_class, setter, plan, rank.rank, luck))
    with FreshProcess(passes_of_all, rank.subject, shares, setter, plan, luck, salt=call["salt"]) as process:
        own = passes_of(sampler_class, setter, plan, rank.rank, luck)
        answer = process.answer(PATIENCE)
    return decoded(Passes, {**own, "other": answer["result"], "error": answer["error"] or ""})


def known_shards(shares: Sequence) -> Callable[[int, int, int], list[int]]:
    """A `shard` that looks shares up, which is no model for an answer. shares: [samples, ranks, shares by rank]."""
    known = {(samples, ranks): by_rank for samples, ranks, by_rank in shares}

    def shard(dataset_size: int, rank: int, size: int) -> list[int]:
        if (dataset_size, size) not in known:
            raise ValueError(f"`shard` is asked for {dataset_size} samples on {size} ranks: no sampler has these")
        return [*known[dataset_size, size][rank]]

    return shard


def passes_of_all(subject: Any, shares: Sequence, setter: str, case: dict, luck: int) -> list[list[list[int | None]]]:
    """Runs in a process of its own: by rank, the ids of each pass. case, setter, luck: as of `passes_of`."""
    sampler_class = subject.load(shard=known_shards(shares))
    by_rank = [passes_of(sampler_class, setter, case, rank, luck + rank) for rank in range(case["size"])]
    return [[entry["ids"] for entry in own["passes"]] for own in by_rank]


def listed(values: Any, most: int) -> dict:
    """The first `most` entries of what should be a list of ints, as plain data; a list may also be an iterator.

    Returns ``{"type": name, "ids": [the whole number of each entry, or None], "kinds": [types that are no int]}``.
    What cannot be gone through has no entries.
    """
    kinds: dict[str, None] = {}
    ids: list[int | None] = []
    for value in islice(values, most) if isinstance(values, Iterable) else ():
        if type(value) is not int:
            kinds[kind_of(value)] = None
        try:
            ids.append(index(value))
        except Exception:  # whatever a value raises, it is no whole number
            ids.append(None)
    return {"type": kind_of(values), "ids": ids, "kinds": [*kinds]}


def kind_of(value: Any) -> str:
    """The type of a value in words, of a tensor or numpy's with its dtype."""
    kind = type(value).__name__
    return f"{kind} of {value.dtype}" if hasattr(value, "dtype") and kind != str(value.dtype) else kind


def passes_of(sampler_class: Any, setter: str, case: dict, rank: int, luck: int) -> dict:
    """What samplers of one rank yield, and what the global generators give then, which were seeded with `luck`.

    setter: the method that sets a sampler to an epoch, or to a place in it. case: `size`, the number of ranks;
    `samplers`: [samples, whether for one rank alone, seed or None]; `passes`: [number of the sampler, the epoch or the
    list of arguments that it is set to before, or None]; a third entry says how many samples are drawn before the next
    pass, and the others after it; or, if there is a fourth, before it is set to that epoch, and the others after it.
    """
    import torch

    seed_generators(luck)
    samplers: list[Any] = []
    for samples, alone, seed in case["samplers"]:
        place = (samples, 0, 1) if alone else (samples, rank, case["size"])
        if seed is None:
            samplers.append(sampler_class(*place))
        elif len(samplers) % 2:
            samplers.append(sampler_class(*place, seed))
        else:
            names = ("dataset_size", "rank", "size")
            samplers.append(sampler_class(**dict(zip(names, place, strict=True)), seed=seed))
    seen: list[dict] = []
    held: tuple[dict, Iterable] | None = None
    for which, epoch, *more in case["passes"]:
        if epoch is not None:
            getattr(samplers[which], setter)(*(epoch if isinstance(epoch, list) else [epoch]))
        length, passing, most = len(samplers[which]), iter(samplers[which]), 3 * case["samplers"][which][0] + 10
        seen.append({**listed(passing, more[0] if more else most), "length": length})
        if len(more) > 1:
            getattr(samplers[which], setter)(more[1])
            go_on(seen[-1], passing, most)
        if held:
            go_on(*held, most)
        held = (seen[-1], passing) if len(more) == 1 else None
    derived = isinstance(samplers[0], torch.utils.data.Sampler)
    return {"passes": seen, "drawn": next_numbers(), "derived": derived}


def go_on(entry: dict, passing: Iterable, most: int) -> None:
    """Draw the rest of a pass. entry: what `listed` gave of its beginning."""
    rest = listed(passing, most)
    entry["ids"] += rest["ids"]
    entry["kinds"] += [kind for kind in rest["kinds"] if kind not in entry["kinds"]]


def seed_generators(luck: int) -> None:
    """Seed the global random generators of torch, Python and numpy."""
    import numpy
    import torch

    torch.manual_seed(luck)
    random.seed(luck)
    numpy.random.seed(luck)


def next_numbers() -> list[float]:
    """What the global generators of torch, Python and numpy give next; they move on by it."""
    import numpy
    import torch

    return [torch.rand(1, dtype=torch.float64).item(), random.random(), float(numpy.random.random())]


def generators_after(luck: int) -> dict[str, float]:
    """By library, the number that its global generator gives if nobody but `luck` touched it."""
    import numpy
    import torch

    return {
        "torch": torch.rand(1, dtype=torch.float64, generator=torch.Generator().manual_seed(luck)).item(),
        "random": random.Random(luck).random(),
        "numpy": float(numpy.random.RandomState(luck).random_sample()),
    }
