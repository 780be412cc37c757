"""Verdicts on who draws which sample of a data set, by the samples' numbers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain, pairwise

from autograde.contract.findings import Findings
from autograde.contract.verdict import Diagnosis, Finding

Ids = Sequence[int | None]  # None stands for an entry that is no whole number

finding = Findings("""
unknown-samples 3
A rank draws {bad}, which is no sample of the set: there are {n} of them on {size} ranks, numbered from 0 to {last}.

whole-set-on-every-rank 3
Each of {size} ranks draws all {n} samples, which takes as long as on one rank alone. Which samples are a rank's own?

dealt-on-one-node 2
On {size} ranks, on nodes of {local}, a rank draws {most} of {n} samples, as if its node were alone. How many ranks
take part in all?

last-batch-dropped 2
{n} samples on {size} ranks: each draws {most}, {batch} at a time. The last batch, which is smaller, is left out.

tail-dropped 2
{n} samples on {size} ranks: no rank draws {missing} of them. Samples that are left over when the ranks share evenly
must not be lost.

no-padding 2
{n} samples on {size} ranks: one rank draws {most}, another {least}. The first would take a step more, and wait for the
others for ever. All ranks should draw equally many.

padding-not-repeated 1
With fewer samples than ranks, here {n} on {size} ranks, one rank draws {most} and another {least}. Here it takes more
than one round to fill up.

wrong-number 2
{n} samples on {size} ranks: one rank draws {most}, another {least}, and no rank draws {missing} of the samples. All
ranks should draw equally many, and no more than needed.

fewer-than-needed 2
{n} samples on {size} ranks: each rank draws {most}, where {expected} are needed, and no rank draws {missing} of the
samples.

more-than-needed 2
{n} samples on {size} ranks: each rank draws {most}, where {expected} are enough. How many turns does it take until all
samples are dealt out?

overlapping-shards 2
{n} samples on {size} ranks: {twice} are drawn more than once, and {missing} by no rank, although each rank draws as
many as it should. Do all ranks use one and the same order, and each its own number among all ranks?

contiguous-shards 2
{n} samples on {size} ranks: rank 0 takes neighbours, a block of them. The lab asks you to deal them out in turn, one to
each rank, round and round.

wrong-padding 1.5
{n} samples on {size} ranks: each is drawn, but the shards are filled up with {again}. Where does filling up begin, and
which rank is next?

wrong-order 1.5
{n} samples on {size} ranks: each is drawn, but not in the expected order. Rank {rank} begins with {actual}, where
{expected} is expected.

batch-size-divided 2
The batches of a rank have size {sizes} where `batch_size` is {batch}. That number is for one rank, not for all
together.

wrong-batches 2
The batches of a rank have size {sizes} where `batch_size` is {batch}. What cuts the samples into batches, and what was
it given?
""")


def turns(shards: Sequence[Ids]) -> list[int | None]:
    """What ranks drew in the order of their turns: what each drew first, rank by rank, then what each drew second."""
    return list(chain.from_iterable(zip(*shards, strict=False)))


def share_mistakes(
    n: int, shards: Sequence[Ids], batch_size: int | None = None, local_size: int | None = None
) -> list[Finding | Diagnosis]:
    """What is wrong with how many of `n` samples each rank draws, and with which of them, in whatever order.

    Expected are equally many on each rank, as few as will do, and each sample at least once. batch_size: of one rank,
    where batches are drawn. local_size: number of ranks on a node.
    """
    return strange_samples(n, shards) or wrong_numbers(n, shards, batch_size, local_size)


def facts(n: int, shards: Sequence[Ids]) -> dict[str, int]:
    """What findings say of shards."""
    drawn, counts = Counter(chain.from_iterable(shards)), [len(shard) for shard in shards]
    seen = {"n": n, "last": n - 1, "size": len(shards), "most": max(counts), "least": min(counts)}
    return seen | {"missing": n - len(drawn), "twice": sum(times > 1 for times in drawn.values())}


def strange_samples(n: int, shards: Sequence[Ids]) -> list[Finding]:
    """A finding if samples are drawn that are none, or all by all ranks."""
    if strange := [number for number in chain.from_iterable(shards) if number is None or not 0 <= number < n]:
        bad = "what is no number" if strange[0] is None else strange[0]
        return [finding("unknown-samples", bad=bad, **facts(n, shards))]
    if len(shards) > 1 < n and all(len({*shard}) == n for shard in shards):
        return [finding("whole-set-on-every-rank", **facts(n, shards))]
    return []


def wrong_numbers(
    n: int, shards: Sequence[Ids], batch_size: int | None, local_size: int | None
) -> list[Finding | Diagnosis]:
    """What is wrong with how many samples are drawn, and how often."""
    about, size = facts(n, shards), len(shards)
    expected, missing, most = math.ceil(n / size), about["missing"], about["most"]
    if expected == most == about["least"]:
        return [finding("overlapping-shards", **about)] if missing else []
    equal, few = most == about["least"], n < size and most == expected
    in_batches = expected // batch_size * batch_size if batch_size else None
    fits = {
        "dealt-on-one-node": equal and local_size is not None and local_size < size and most == -(-n // local_size),
        "last-batch-dropped": equal and missing > 0 and most == in_batches,
        "tail-dropped": equal and not about["twice"] and 0 < missing < size,
        "no-padding": not missing and not about["twice"],
        "padding-not-repeated": few and not missing,
    }
    about |= {"batch": batch_size or 0, "local": local_size or 0}
    explained = [key for key, fitting in fits.items() if fitting]
    known = tuple(finding(key, **about) for key in explained)
    counted = "more-than-needed" if most > expected else "fewer-than-needed"
    otherwise = finding(counted if equal else "wrong-number", expected=expected, **about)
    return [Diagnosis("shares", known, frozenset(fits) - {*explained}, otherwise)]


def dealt_out(order: Sequence[int], size: int) -> list[list[int]]:
    """Each rank's share of `order`, dealt out in turn, and on from its start until `size` ranks have equally many."""
    n = len(order)
    return [[order[(rank + turn * size) % n] for turn in range(-(-n // size))] for rank in range(size)]


def dealing_mistakes(order: Sequence[int], shards: Sequence[Ids]) -> list[Finding | Diagnosis]:
    """What is wrong with shards where samples should be dealt out in turn, one to each rank.

    Expected is one turn after the other, and when all samples are gone the same again, until all ranks have equally
    many. order: all samples, as they are to be dealt out. shards: what each rank drew, in its order.
    """
    n, size = len(order), len(shards)
    if found := strange_samples(n, shards):
        return found
    place = {sample: position for position, sample in enumerate(order)}
    steps = {(place[after] - place[before]) % n for shard in shards for before, after in pairwise(shard)}
    found = [finding("contiguous-shards", n=n, size=size)] if size > 1 and n > 2 and steps == {1} else []
    found += wrong_numbers(n, shards, None, None)
    expected = dealt_out(order, size)
    if found or list(map(list, shards)) == expected:
        return found
    if (dealt := turns(shards))[:n] == [*order]:
        return [finding("wrong-padding", n=n, size=size, again=", ".join(map(str, dealt[n:][:6])))]
    return [wrong_order(n, shards, expected)]


def of_large_shards(judged: Iterable[tuple[int, list[Finding | Diagnosis]]]) -> list[Finding | Diagnosis]:
    """What comes of (samples for each rank, what is wrong) of several data sets.

    With less than two samples for each rank one mistake looks like another: these count where the others show nothing.
    """
    few, many = [], []
    for each, found in judged:
        (many if each >= 2 else few).extend(found)
    return many or few


def wrong_order(n: int, shards: Sequence[Ids], expected: Sequence[Ids]) -> Finding:
    """The finding for shards of `n` samples that are not the expected ones."""
    rank = next(rank for rank, (own, right) in enumerate(zip(shards, expected, strict=True)) if own != right)
    actual, right = (", ".join(map(str, each[rank][:4])) for each in (shards, expected))
    return finding("wrong-order", n=n, size=len(shards), rank=rank, actual=actual, expected=right)


def loader_mistakes(
    n: int, batch_size: int, epochs: Sequence[Sequence[Sequence[Ids]]], local_size: int | None = None
) -> list[Finding | Diagnosis]:
    """What is wrong with the batches, [epoch][rank][batch], that ranks draw of `n` samples, in whatever order.

    batch_size: of one rank. local_size: ranks of a node.
    """
    for ranks in epochs:
        shards = [list(chain.from_iterable(of_rank)) for of_rank in ranks]
        if found := share_mistakes(n, shards, batch_size, local_size) or batch_mistakes(batch_size, ranks):
            return found
    return []


def batch_mistakes(batch_size: int, ranks: Sequence[Sequence[Ids]]) -> list[Finding]:
    """A finding if some rank's batches, but for its last, are not of `batch_size`. ranks: [rank][batch]."""
    for of_rank in ranks:
        sizes = [len(batch) for batch in of_rank]
        if any(one != batch_size for one in sizes[:-1]) or max(sizes, default=0) > batch_size:
            divided = len(ranks) > 1 and sizes[0] == max(1, batch_size // len(ranks))
            listed = ", ".join(str(one) for one, _ in Counter(sizes).most_common())
            return [finding("batch-size-divided" if divided else "wrong-batches", sizes=listed, batch=batch_size)]
    return []
