"""The check of `local_place`."""

from __future__ import annotations

import operator
import random
from collections.abc import Callable
from functools import partial
from types import MappingProxyType
from typing import Any

from autograde.contract.findings import Findings
from autograde.contract.rank_check import CallCheck, Rank
from autograde.contract.schema import array, integer, optional, string
from autograde.contract.verdict import Diagnosis, Finding
from autograde.verdicts.collectives import MESSAGES, only
from autograde.verdicts.diagnosis import diagnose
from autograde.verdicts.judged import Call, JudgedCalls

finding = Findings("""
not-place-and-size 2
Rank {rank} returns {kind}; two whole numbers are expected, the local rank and the local size.

rank-modulo 2
With hosts {hosts}, by rank, your function returns {actual}. That is right only where the ranks of a node follow each
other. Which ranks of `comm` are on the same host as rank {rank}?

name-begins-alike 2
With hosts {hosts}, by rank, your function returns {actual}. It takes two nodes for one when one name begins with the
other, as node1 and node10 do. When are two names the same?

name-cut-at-the-dot 2
With hosts {hosts}, by rank, your function returns {actual}. It takes two nodes for one when their names differ only
behind the first dot. The whole name says which node it is.

nodes-apart-by-hash 2
With hosts {hosts}, by rank, your function returns {actual}, as if every rank were alone on its node. Python's `hash` of
a string differs from process to process. What do two ranks on the same host really have in common?

number-of-the-node 2
With hosts {hosts}, by rank, your function returns {actual}. Its first number is that of the node, which all ranks on it
share. The local rank tells the ranks on one node apart.

rank-of-all-ranks 2
With hosts {hosts}, by rank, your function returns {actual}: numbers among all ranks, as if they were on one node. This
machine is one indeed, but here only the argument `host` says where a rank is.

counts-from-one 1
With hosts {hosts}, by rank, your function returns {actual}. A node's first local rank is 0: how many ranks on the same
host come *before* this one?

nodes-of-equal-size 2
With hosts {hosts}, by rank, your function returns {actual}: it shares the ranks out evenly among the nodes. Nodes may
hold different numbers of ranks. Count those that have the same host.

neighbours-only 2
With hosts {hosts}, by rank, your function returns {actual}. It counts ranks on the same host only as far as they follow
each other without a gap. Others may stand between them.

reversed-order 1
With hosts {hosts}, by rank, your function returns {actual}. On each node it counts from the last rank down. Local ranks
are in the order of the ranks.

wrong-place 2
With hosts {hosts}, by rank, your function returns {actual}; expected is {expected}. For each rank, count those with the
same host: first the ones of smaller rank, then all.

messages-for-names 0.5
The ranks send messages to each other. One collective call tells every rank what it needs, and MPI knows good ways to do
that.

many-collectives 0.5
One call of your function makes {n} collective calls on a rank. Two are enough, whatever you do.
""")


def whole(value: Any) -> int | None:
    """A whole number, of Python's or another library; None for anything else."""
    try:
        return operator.index(value)
    except TypeError:
        return None


def pair_of(value: Any) -> list[int] | None:
    """The two whole numbers in a value; None if it does not consist of these."""
    try:
        numbers = [whole(each) for each in value]
    except TypeError:
        return None
    return numbers if len(numbers) == 2 and None not in numbers else None


def places(hosts: list[str], alike: Callable[[str, str], bool] = operator.eq) -> list[list[int]]:
    """By rank, its place among those whose host is `alike`, and their number."""
    groups = [[rank for rank, other in enumerate(hosts) if alike(host, other)] for host in hosts]
    return [[sum(each < rank for each in group), len(group)] for rank, group in enumerate(groups)]


def neighbours(hosts: list[str]) -> list[list[int]]:
    """The same for ranks that follow each other."""
    runs: list[list[str]] = []
    for host in hosts:
        if not runs or runs[-1][0] != host:
            runs.append([])
        runs[-1].append(host)
    return [[place, len(run)] for run in runs for place in range(len(run))]


def mistakes(hosts: list[str]) -> dict[str, list[list[int]]]:
    """What known mistakes give."""
    right, size, first = places(hosts), len(hosts), list(dict.fromkeys(hosts))
    few = max(1, size // len(first))
    by_name, sizes = sorted(first), [total for _, total in right]
    return {
        "rank-modulo": [[rank % total, total] for rank, total in enumerate(sizes)],
        "name-begins-alike/longer": places(hosts, lambda own, other: other.startswith(own)),
        "name-begins-alike/shorter": places(hosts, lambda own, other: own.startswith(other)),
        "name-begins-alike/either": places(hosts, lambda one, two: one.startswith(two) or two.startswith(one)),
        "name-cut-at-the-dot": places(hosts, lambda one, two: one.partition(".")[0] == two.partition(".")[0]),
        "nodes-apart-by-hash": [[0, 1]] * size,
        "number-of-the-node/first": [[first.index(host), n] for host, n in zip(hosts, sizes, strict=True)],
        "number-of-the-node/name": [[by_name.index(host), n] for host, n in zip(hosts, sizes, strict=True)],
        "rank-of-all-ranks": [[rank, size] for rank in range(size)],
        "rank-of-all-ranks/rank": [[rank, total] for rank, total in enumerate(sizes)],
        "counts-from-one": [[place + 1, total] for place, total in right],
        "nodes-of-equal-size": [[rank % few, few] for rank in range(size)],
        "nodes-of-equal-size/place": [[place, few] for place, _ in right],
        "neighbours-only": neighbours(hosts),
        "neighbours-only/place": [[place, n] for (place, _), n in zip(neighbours(hosts), sizes, strict=True)],
        "reversed-order": [[total - 1 - place, total] for place, total in right],
    }


class LocalPlace(CallCheck, JudgedCalls):
    """Local rank and local size, on nodes that are only names."""

    todo, points = "local_place", 2
    prices = MappingProxyType({"world-not-comm": 2})
    consolidation = (
        "A rank learns about the others only by communicating: one collective call tells all of them all names. On a "
        "cluster, the local rank says which of a node's GPUs is this rank's."
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """Nodes whose ranks do and do not follow each other, of unequal sizes, a name that begins another, and two
        names that differ only behind the dot."""
        number = rng.randint(1, 9)
        a, b, c = f"node{number}", f"node{number}{rng.randint(0, 9)}", f"gpu-{rng.randint(10, 99)}.cluster"

        def case(ranks: list[int], *hosts: str) -> dict:
            names = {"a": a, "b": b, "c": c, "d": f"{c.partition('.')[0]}.cloud"}
            calls = [{"hosts": [names[letter] for letter in each]} for each in hosts]
            return {"ranks": ranks, "calls": calls, "late": rng.randrange(len(ranks))}

        cases = [
            case([0, 1, 2, 3], "abab", "aaba", "bcca", "cddc"),
            case([2, 0, 3], "aba", "caa", "ccc"),
            case([1, 3], "ab", "aa"),
        ]
        cases += [case([rng.randrange(4)], "a")]
        ### BEGIN HIDDEN CASES
        cases += [case([3, 1, 0, 2], "baab", "abbb", "aabb", "cbca"), case([1, 3, 2], "bab", "bca")]
        ### END HIDDEN CASES
        return cases

    @staticmethod
    def call(function: Callable, rank: Rank, call: dict) -> dict:
        """The pair that this rank returns."""
        value = function(rank.comm, call["hosts"][rank.rank])
        return {"pair": pair_of(value), "kind": f"{value!r:.80}"}

    def shape(self, case: dict, call: dict) -> dict[str, dict]:
        """Two whole numbers, or what it was instead."""
        return {"pair": optional(array(integer(), 2)), "kind": string()}

    def judge(self, case: dict, call: Call) -> list[Finding | Diagnosis]:
        """The pairs, and how the ranks came by them."""
        hosts, pairs = call.plan["hosts"], call.of("pair")
        if None in pairs:
            rank = pairs.index(None)
            return [finding("not-place-and-size", rank=rank, kind=call.of("kind")[rank])]
        expected = places(hosts)
        wrong = next((rank for rank, pair in enumerate(pairs) if pair != expected[rank]), 0)
        about = {"hosts": ", ".join(hosts), "rank": wrong}
        about |= {"actual": in_words(pairs), "expected": in_words(expected)}
        found = [
            diagnose("place", pairs, expected, mistakes(hosts), partial(finding, **about), "wrong-place", operator.eq)
        ]
        found += only("mpi4py", call.events)
        if any(event["kind"] in MESSAGES for log in call.events for event in log):
            found.append(finding("messages-for-names"))
        most = max(sum(event["kind"] not in (*MESSAGES, "probe") for event in log) for log in call.events)
        return found + ([finding("many-collectives", n=most)] if most > 2 else [])


def in_words(pairs: list[list[int]]) -> str:
    """Pairs as text."""
    return ", ".join(f"({place}, {total})" for place, total in pairs)


CHECK = LocalPlace()
