"""The check of `add_shares`."""

from __future__ import annotations

import operator
import random
from collections.abc import Callable
from functools import partial
from types import MappingProxyType
from typing import Any

from autograde.contract.calls import type_in_words
from autograde.contract.findings import Findings
from autograde.contract.rank_check import CallCheck, Rank
from autograde.contract.schema import array, integer, optional, string
from autograde.contract.verdict import Diagnosis, Finding
from autograde.probes.simulated_node import simulated_node
from autograde.verdicts.collectives import one_allreduce
from autograde.verdicts.diagnosis import diagnose
from autograde.verdicts.judged import Call, JudgedCalls

finding = Findings("""
not-three-results 2
Rank {rank} returns {kind}. Three values are expected: `c`, the sum of this share, and the sum of all shares.

not-int64-tensor 1
On rank {rank}, `c` is {kind}. It should be an int64 tensor with one dimension, of {n} numbers.

sums-in-tensors 0.5
Rank {rank} returns {kind} as a sum. An int is expected, as `int(...)` or `.item()` gives it.

numbers-left-out 1
With {n} numbers on {size} ranks, no rank adds up {lost} of them. What happens to the rest where N cannot be divided by
the number of ranks?

share-by-local-rank 1
On {size} ranks, each rank takes the share of its local rank. The check simulates nodes with {local} ranks each, on each
of which local ranks count from 0. Which number does a rank have among all of them?

added-twice 1
With {n} numbers on {size} ranks, {twice} of them are added up by more than one rank. Where does a share end, and where
does the next one begin?

all-of-c-everywhere 2
Every one of {size} ranks has the whole of `c`. A rank should compute its own share only, and have 0 elsewhere.

c-is-reduced 1.5
Your code reduces `c` itself, so afterwards every rank has all of it. Only one number of each rank has to be combined:
the sum of its share.

wrong-entries 2
On rank {rank}, {n} entries of `c` are neither 0 nor a + b at their place: entry {place} is {actual}, where a + b is
{expected}.

share-in-pieces 1
With {n} numbers on {size} ranks, the share of rank {rank} is not one piece at its place. A share has no gaps, and the
shares are in the order of the ranks.

shares-unequal 1
With {n} numbers on {size} ranks, one rank adds up {most} and another {least}. Shares should differ by one at most.

share-sum-wrong 1
On rank {rank}, the sum of its share is {actual}, where the entries of its `c` add up to {expected}.

through-float 1
{seen}. A float64 has 53 bits for its digits, and these sums need more. Where do whole numbers turn into floats?

average-of-sums 1
On {size} ranks, the sum of all shares is {actual}, where {expected} is expected: {size} times as much. What does
Horovod's all-reduce do unless you tell it otherwise?

fraction-lost 1
On {size} ranks, the sum of all shares is {actual}, where {expected} is expected. It is off by a little, since your
reduction averages: an average of whole numbers loses its fraction, and no multiplication brings that back.

own-sum-only 1
Rank {rank} returns the sum of its own share, {actual}, as the sum of all shares, which is {expected}. Look at what the
reduction returns.

total-wrong 1
On rank {rank} of {size}, the sum of all shares is {actual}, where {expected} is expected.
""")

BIT = 2**53  # from here on a float64 has no odd numbers
LOCAL_SIZE = 2  # ranks on each simulated node


def exact(value: Any) -> int | None:
    """The whole number in a value, also in a tensor with one; None for floats and all else."""
    try:
        return None if isinstance(value, bool) else operator.index(value)
    except (TypeError, ValueError):
        return None


class AddShares(CallCheck, JudgedCalls):
    """Each rank adds its share, and one reduction of one number adds up the shares' sums."""

    todo, points, needs = "add_shares", 2, "horovod"
    consolidation = (
        "Every rank keeps what it computed, and only one number of each travels. Horovod averages unless it is told "
        "otherwise, and averages of whole numbers lose their fraction."
    )
    prices = MappingProxyType(
        {
            "no-reduction": 1,
            "reduce-not-allreduce": 1,
            "other-communication": 1,
            "allreduce-in-the-loop": 1,
            "unseen-communication": 1,
            "collective-skipped": 2,
            "uneven-collectives": 2,
        }
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """Numbers that fill 62 bits in all, as many as divide evenly and not, fewer than ranks, and none."""

        def numbers(n: int) -> list[int]:
            low = 2 * BIT // max(1, n)
            return [rng.randrange(low, 4 * low) | 1 for _ in range(n)]

        def case(size: int, *lengths: int) -> dict:
            calls = [{"a": numbers(n), "b": [2 * x for x in numbers(n)]} for n in lengths]
            return {"size": size, "calls": calls, "late": rng.randrange(size)}

        cases = [case(4, 11, 8, 2), case(3, 13, 8, 0), case(2, 11), case(1, 3)]
        return cases

    @staticmethod
    def call(function: Callable, rank: Rank, call: dict) -> dict:
        """The three results."""
        import torch

        a, b = (rank.argument(name, torch.tensor(call[name], dtype=torch.int64)) for name in "ab")
        with simulated_node(rank.rank % LOCAL_SIZE, LOCAL_SIZE):
            value = function(a, b)
        three = isinstance(value, (tuple, list)) and len(value) == 3
        shown: dict[str, Any] = {"kind": type_in_words(value), "c": None, "share": None, "total": None, "tensor": ""}
        if not three:
            return shown
        c, share, total = value
        shown |= {"share": exact(share), "total": exact(total), "kind": "three"}
        if tensors := [each for each in (share, total) if isinstance(each, torch.Tensor)]:
            shown["tensor"] = f"a tensor of {str(tensors[0].dtype).removeprefix('torch.')}"
        if isinstance(c, torch.Tensor):
            shown["kind"] = f"a tensor of {str(c.dtype).removeprefix('torch.')}, of shape {list(c.shape)}"
            if c.dtype == torch.int64 and c.ndim == 1:
                shown["c"] = c.tolist()
        else:
            shown["kind"] = f"{type_in_words(c)} as c"
        if None in (shown["share"], shown["total"]):
            floats = isinstance(share, float) or isinstance(total, float)
            floats |= any(isinstance(each, torch.Tensor) and each.is_floating_point() for each in (share, total))
            shown["kind"] = "floats" if floats else f"{type(share).__name__} and {type(total).__name__}"
        return shown

    def shape(self, case: dict, call: dict) -> dict[str, dict]:
        """The results as whole numbers, or what they are instead."""
        whole = optional(integer())
        return {"c": optional(array(integer())), "share": whole, "total": whole, "kind": string(), "tensor": string()}

    def judge(self, case: dict, call: Call) -> list[Finding | Diagnosis]:
        """Who added what, the sums, and what was communicated."""
        n = len(call.plan["a"])
        for rank, shown in enumerate(call.shown):
            if shown["kind"] == "floats":
                return [finding("through-float", seen=f"Rank {rank} returns a sum that is a float")]
            known = shown["c"] is not None
            if (known and len(shown["c"]) != n) or (not known and shown["kind"].startswith("a tensor")):
                return [finding("not-int64-tensor", rank=rank, kind=shown["kind"], n=n)]
            if None in (shown["c"], shown["share"], shown["total"]):
                return [finding("not-three-results", rank=rank, kind=shown["kind"])]
        found, reduced = self.shares(call), max((e["bytes"] or 0 for log in call.events for e in log), default=0) > 8
        if found and found[0].key == "all-of-c-everywhere" and reduced:
            return [finding("c-is-reduced")]
        if found and found[0].key in ("all-of-c-everywhere", "wrong-entries"):
            return found
        tensors = [rank for rank, kind in enumerate(call.of("tensor")) if kind]
        found += [finding("sums-in-tensors", rank=rank, kind=call.of("tensor")[rank]) for rank in tensors[:1]]
        return [*found, *self.sums(call), *self.communication(call)]

    def shares(self, call: Call) -> list[Finding]:
        """What is wrong with who has which entries of `c`."""
        rows, size, n = call.of("c"), call.size, len(call.plan["a"])
        expected = [a + b for a, b in zip(call.plan["a"], call.plan["b"], strict=True)]
        for rank, row in enumerate(rows):
            if wrong := [i for i in range(n) if row[i] not in (0, expected[i])]:
                about = {"place": wrong[0], "actual": row[wrong[0]], "expected": expected[wrong[0]]}
                return [finding("wrong-entries", rank=rank, n=len(wrong), **about)]
        own = [[i for i, value in enumerate(row) if value] for row in rows]
        owners = [sum(i in each for each in own) for i in range(n)]
        about = {"n": n, "size": size}
        if size > 1 and n and min(owners) == size:
            return [finding("all-of-c-everywhere", size=size)]
        twice, lost = sum(each > 1 for each in owners), owners.count(0)
        by_local_rank = any(own) and own == [own[rank % LOCAL_SIZE] for rank in range(size)]
        if (twice or lost) and size > LOCAL_SIZE and by_local_rank:
            return [finding("share-by-local-rank", size=size, local=LOCAL_SIZE)]
        if twice:
            return [finding("added-twice", twice=twice, **about)]
        if lost:
            return [finding("numbers-left-out", lost=lost, **about)]
        order = [i for each in own for i in each]
        if order != list(range(n)):
            rank = next(rank for rank in range(size) if own[rank] != order_of(own, rank))
            return [finding("share-in-pieces", rank=rank, **about)]
        most, least = max(map(len, own)), min(map(len, own))
        return [finding("shares-unequal", most=most, least=least, **about)] if most - least > 1 else []

    def sums(self, call: Call) -> list[Finding | Diagnosis]:
        """What is wrong with the sums of the entries that the ranks have."""
        size, right = call.size, [sum(row) for row in call.of("c")]
        for rank, share in enumerate(call.of("share")):
            if share != right[rank]:
                if abs(share - right[rank]) <= abs(right[rank]) // 2**40:
                    return [
                        finding(
                            "through-float", seen=f"On rank {rank}, the sum of its share is {share - right[rank]:+} off"
                        )
                    ]
                return [finding("share-sum-wrong", rank=rank, actual=share, expected=right[rank])]
        total, actual = sum(right), call.of("total")
        events = [event for log in call.events for event in log]
        if any((event["dtype"] or "").startswith("float") for event in events):
            return [finding("through-float", seen="The ranks reduce floats")]
        if size > 1 and not events:
            return []
        wrong = next((rank for rank, each in enumerate(actual) if each != total), 0)
        about = partial(finding, rank=wrong, size=size, actual=actual[wrong], expected=total)
        if (off := max(abs(each - total) for each in actual)) and off <= total // 2**40:
            averaged = any(event["reduction"] == "AVERAGE" for event in events)
            return [
                about("fraction-lost")
                if averaged
                else finding("through-float", seen=f"The sum of all shares is {off} off")
            ]
        # Horovod averages whole numbers through floats, so the last digits of an average are not known.
        average = all(abs(each - total // size) <= total // 2**40 for each in actual)
        candidates = {"average-of-sums": actual if average else [total // size] * size, "own-sum-only": right}
        return [diagnose("total", actual, [total] * size, candidates, about, "total-wrong", operator.eq)]

    def communication(self, call: Call) -> list[Finding]:
        """What is wrong with the reduction; without any numbers, or on a single rank, it may be left out."""
        if call.size == 1 or not (call.plan["a"] or any(call.events)):
            return []
        right = all(each == sum(map(sum, call.of("c"))) for each in call.of("total"))
        return one_allreduce("horovod", call.events, right)


def order_of(own: list[list[int]], rank: int) -> list[int]:
    """The numbers of a rank if shares of these sizes stood in the order of the ranks."""
    begin = sum(map(len, own[:rank]))
    return list(range(begin, begin + len(own[rank])))


CHECK = AddShares()
