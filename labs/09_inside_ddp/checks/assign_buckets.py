"""The check of `assign_buckets`."""

from __future__ import annotations

import operator
import random
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from autograde.contract.calls import type_in_words
from autograde.contract.findings import Findings
from autograde.contract.rank_check import CallCheck, Rank
from autograde.contract.schema import array, boolean, integer, optional, string
from autograde.contract.verdict import Diagnosis, Finding
from autograde.verdicts.diagnosis import diagnose
from autograde.verdicts.judged import Call, JudgedCalls

Buckets = list[list[int]]

finding = Findings("""
no-buckets 2
For the sizes {sizes} and the limit {limit}, your function returns {kind}. A list of lists of
indices is expected.

sizes-altered 0.5
After the call, `sizes` is not what it was before.

empty-bucket 1
For the sizes {sizes} and the limit {limit}, there is an empty bucket: {actual}. What does the first bucket look like
before anything is in it?

first-to-last 1
For the sizes {sizes} and the limit {limit}, the buckets are {actual}: from the first gradient to the last. A backward
pass comes by from the last to the first.

ascending-in-buckets 0.5
For the sizes {sizes} and the limit {limit}, the buckets are {actual}. Within a bucket, too, indices go from the last to
the first.

last-bucket-lost 1
For the sizes {sizes} and the limit {limit}, the buckets are {actual}: the last one is missing.

closed-when-reached 1
For the sizes {sizes} and the limit {limit}, the buckets are {actual}. A bucket is closed here once it has reached the
limit. The gradient that would make it larger than the limit belongs to the next one.

closed-before-the-limit 1
For the sizes {sizes} and the limit {limit}, the buckets are {actual}. A bucket may be just as large as the limit.

sorted-by-size 1
For the sizes {sizes} and the limit {limit}, the buckets are {actual}. Gradients are taken by size here; they are ready
in another order.

looks-for-room 1
For the sizes {sizes} and the limit {limit}, the buckets are {actual}. A gradient goes into a bucket that was begun
before the latest one: that bucket would have to wait for it.

counted-not-weighed 1
For the sizes {sizes} and the limit {limit}, the buckets are {actual}: each has the same number of gradients, whatever
their bytes.

first-one-not-weighed 1
For the sizes {sizes} and the limit {limit}, the buckets are {actual}. Where a new bucket begins, its first gradient is
in it, and its bytes are not counted.

large-one-left-out 1
For the sizes {sizes} and the limit {limit}, the buckets are {actual}. A gradient that is larger than the limit is
missing. It has a bucket of its own.

large-one-not-alone 1
For the sizes {sizes} and the limit {limit}, the buckets are {actual}. A gradient that is larger than the limit is to
have a bucket of its own.

other-buckets 1.5
For the sizes {sizes} and the limit {limit}, the buckets are {actual}. Expected are {expected}.
""")


def filled(
    sizes: Sequence[int], limit: int, order: Sequence[int], full: Callable[[int, int], bool], after: bool = False
) -> Buckets:
    """Buckets filled one after the other. full(filled, size): whether a new one begins, asked before a gradient is put
    in; or with `after`, when it is in."""
    buckets: Buckets = []
    weight, begin = 0, True
    for index in order:
        if begin or (not after and full(weight, sizes[index])):
            buckets.append([])
            weight = 0
        buckets[-1].append(index)
        weight += sizes[index]
        begin = after and full(weight, 0)
    return buckets


def expected_buckets(plan: dict) -> Buckets:
    """The right ones of a call."""
    sizes, limit = plan["sizes"], plan["limit"]
    return filled(sizes, limit, range(len(sizes))[::-1], lambda weight, size: weight + size > limit)


def mistakes(sizes: Sequence[int], limit: int) -> dict[str, Buckets]:
    """What known mistakes give."""
    right, order = expected_buckets({"sizes": sizes, "limit": limit}), range(len(sizes))[::-1]

    def over(weight: int, size: int) -> bool:
        return weight + size > limit

    small = [index for index in order if sizes[index] <= limit]
    found = {
        "first-to-last": filled(sizes, limit, range(len(sizes)), over),
        "first-to-last/cut from the end": right[::-1],
        "first-to-last/and within": [bucket[::-1] for bucket in right[::-1]],
        "ascending-in-buckets": [sorted(bucket) for bucket in right],
        "last-bucket-lost": right[:-1],
        "closed-when-reached": filled(sizes, limit, order, lambda weight, _: weight >= limit, after=True),
        "closed-when-reached/exceeded": filled(sizes, limit, order, lambda weight, _: weight > limit, after=True),
        "closed-before-the-limit": filled(sizes, limit, order, lambda weight, size: weight + size >= limit),
        "sorted-by-size": filled(sizes, limit, sorted(order, key=lambda i: sizes[i]), over),
        "sorted-by-size/forwards": filled(sizes, limit, sorted(order[::-1], key=lambda i: sizes[i]), over),
        "sorted-by-size/largest first": filled(sizes, limit, sorted(order, key=lambda i: -sizes[i]), over),
        "looks-for-room": first_fit(sizes, limit),
        "first-one-not-weighed": first_not_weighed(sizes, limit),
        "large-one-left-out": filled(sizes, limit, small, over),
        "large-one-not-alone": large_with_others(sizes, limit),
        "empty-bucket": [[], *right] if not sizes or sizes[-1] > limit else right,
        "empty-bucket/where the first is large": [[], *right] if sizes and sizes[-1] > limit else right,
        "empty-bucket/always": [[], *right],
        "empty-bucket/at the end": [*right, []],
        "empty-bucket/for none": right or [[]],
    }
    for count in (1, 2, 3):
        cut = [[*order[start : start + count]] for start in range(0, len(order), count)]
        found[f"counted-not-weighed/{count}"] = cut
    return found


def first_fit(sizes: Sequence[int], limit: int) -> Buckets:
    """Each gradient in the first bucket that has room for it."""
    buckets: Buckets = []
    for index in reversed(range(len(sizes))):
        room = [bucket for bucket in buckets if sum(sizes[i] for i in bucket) + sizes[index] <= limit]
        (room[0] if room else buckets.append([]) or buckets[-1]).append(index)
    return buckets


def first_not_weighed(sizes: Sequence[int], limit: int) -> Buckets:
    """From the second bucket on, each begins with a weight of 0."""
    buckets: Buckets = [[]]
    weight = 0
    for index in reversed(range(len(sizes))):
        if buckets[-1] and weight + sizes[index] > limit:
            buckets.append([index])
            weight = 0
        else:
            buckets[-1].append(index)
            weight += sizes[index]
    return [bucket for bucket in buckets if bucket]


def large_with_others(sizes: Sequence[int], limit: int) -> Buckets:
    """One that is larger than the limit stays where it comes, and the next bucket begins after it."""
    buckets: Buckets = [[]]
    for index in reversed(range(len(sizes))):
        weight = sum(sizes[i] for i in buckets[-1])
        if buckets[-1] and weight + sizes[index] > limit and sizes[index] <= limit:
            buckets.append([])
        buckets[-1].append(index)
    return [bucket for bucket in buckets if bucket]


class AssignBuckets(CallCheck, JudgedCalls):
    """Sizes that fill buckets just so, too much, and in part."""

    todo, points = "assign_buckets", 2
    consolidation = (
        "A bucket joins what is ready at about the same time. Large buckets save latency, and small ones leave earlier."
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """Random sizes with some that fill a bucket, some that are too large; none at all, and a single one."""

        def plan() -> dict:
            unit = rng.randrange(4, 40) * 4
            limit = 6 * unit
            sizes = [rng.randrange(1, 5) * unit for _ in range(rng.randrange(9, 14))]
            sizes[rng.randrange(2, 5)] = limit + unit
            sizes[-4:] = [2 * unit, 2 * unit, 5 * unit, unit]
            return {"sizes": sizes, "limit": limit}

        def told() -> dict:
            for _ in range(200):
                drawn = plan()
                ways = mistakes(drawn["sizes"], drawn["limit"])
                right = expected_buckets(drawn)
                if len({key.partition("/")[0] for key, buckets in ways.items() if buckets != right}) >= 12:
                    break
            return drawn

        large = rng.randrange(50, 99)
        small = [{"sizes": [], "limit": 100}, {"sizes": [large], "limit": large - 1}, {"sizes": [8, 8], "limit": 16}]
        cases = [{"calls": [told(), told(), *small]}]
        return cases

    @staticmethod
    def call(function: Callable, rank: Rank, call: dict) -> dict:
        """The buckets as lists of numbers."""
        sizes = [*call["sizes"]]
        value = function(sizes, call["limit"])
        buckets = None
        if isinstance(value, (list, tuple)) and all(isinstance(each, (list, tuple)) for each in value):
            entries = [[index_of(index) for index in bucket] for bucket in value[:50]]
            buckets = None if any(index is None for bucket in entries for index in bucket) else entries
        kind = type_in_words(value) if buckets is None else "a list of lists"
        return {"buckets": buckets, "kind": kind, "altered": sizes != call["sizes"]}

    def shape(self, case: dict, call: dict) -> dict[str, dict]:
        """Buckets, or what there is in their place."""
        return {"buckets": optional(array(array(integer()))), "kind": string(), "altered": boolean()}

    def judge(self, case: dict, call: Call) -> Iterable[Finding | Diagnosis]:
        """The buckets beside the right ones, and those of mistakes."""
        shown, plan = call.shown[0], call.plan
        about = {"sizes": plan["sizes"], "limit": plan["limit"], "kind": shown["kind"]}
        if shown["altered"]:
            yield finding("sizes-altered")
        if shown["buckets"] is None:
            yield finding("no-buckets", **about)
            return
        expected = expected_buckets(plan)
        known = mistakes(plan["sizes"], plan["limit"])
        told = partial(finding, actual=shown["buckets"], expected=expected, **about)
        yield diagnose("buckets", shown["buckets"], expected, known, told, "other-buckets", operator.eq)


def index_of(value: object) -> int | None:
    """A whole number, whatever it is made of; None for anything else."""
    try:
        return None if isinstance(value, (bool, float, str)) else int(value.__index__())
    except (AttributeError, TypeError):
        return None


CHECK = AssignBuckets()
