"""Who draws which sample: shards of a data set as plain data, and what is wrong with them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain, islice, pairwise
from operator import index
from typing import Any

Ids = Sequence[int | None]  # None stands for an entry that is no whole number


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


def turns(shards: Sequence[Ids]) -> list[int | None]:
    """What ranks drew in the order of their turns: what each drew first, rank by rank, then what each drew second."""
    return list(chain.from_iterable(zip(*shards, strict=False)))


def blocks(samples: int, shards: Sequence[Ids]) -> bool:
    """Whether each rank draws neighbours, one after the other; after the last sample comes the first."""
    steps = [(after - before) % samples for own in shards for before, after in pairwise(own)]
    return len(shards) > 1 and samples > 2 and bool(steps) and set(steps) == {1}


def mistakes(samples: int, shards: Sequence[Ids]) -> list[tuple[str, dict]]:
    """What is wrong with shards of samples that are numbered from 0 in the order in which they are to be dealt out.

    Due is one turn after the other, and when all samples are gone the same again, until all ranks have equally many.
    shards: what each rank drew, in its order. Returns names of mistakes, each with the numbers seen.
    """
    size, due = len(shards), math.ceil(samples / len(shards))
    flat, lengths = list(chain.from_iterable(shards)), [len(own) for own in shards]
    if strange := [i for i in flat if i is None or not 0 <= i < samples]:
        return [("not-indices", {"bad": strange[0], "samples": samples, "last": samples - 1, "size": size})]
    counts = Counter(flat)
    missing = samples - len(counts)
    if size > 1 and samples > due and all(len({*own}) == samples for own in shards):
        return [("everything-on-every-rank", {"size": size, "samples": samples})]
    found: list[tuple[str, dict]] = []
    if blocks(samples, shards):
        found.append(("contiguous-shards", {"size": size, "samples": samples, "own": [*shards[0]]}))
    if set(lengths) != {due}:
        about = {"size": size, "samples": samples, "most": max(lengths), "least": min(lengths), "missing": missing}
        once = len(flat) == len(counts)
        if len(set(lengths)) == 1 and once and 0 < missing < size:
            return [*found, ("tail-dropped", about)]
        if not missing and once:
            return [*found, ("no-padding", about)]
        if samples < size and max(lengths) == due and not missing:
            return [*found, ("padding-not-repeated", about)]
        return [*found, ("wrong-number", about)]
    order = turns(shards)
    if order[:samples] == [*range(samples)]:
        if order[samples:] != order[: len(order) - samples]:
            found.append(("wrong-padding", {"size": size, "samples": samples, "drawn": order[samples:]}))
    elif missing:
        twice = sum(count > 1 for count in counts.values())
        found.append(("overlapping-shards", {"size": size, "samples": samples, "twice": twice, "missing": missing}))
    elif not found:
        found.append(("wrong-order", {"size": size, "samples": samples, "first": order[:size]}))
    return found
