"""The check of `local_place`."""

from __future__ import annotations

import operator
import random
from collections.abc import Callable
from dataclasses import dataclass

from autograde.rubric.check import CallCheck
from autograde.rubric.criterion import Call, Criterion, MistakesGiving, of_record
from autograde.rubric.judges.reductions import first
from autograde.rubric.words import Words, Wrong
from autograde.verdicts.collectives import MESSAGES, group_sizes, only, wrong_group

from ..probes import local_place

Pairs = list[tuple[int, int]]
SHOWN = "With hosts {in_order}, by rank, your function returns {actual}"

words = Words(f"""
not-place-and-size: Rank {{rank}} returns {{text}}; two whole numbers are expected, the local rank and the local size.

wrong-place: {SHOWN}; expected is {{expected}}. For each rank, count those with the same host: first the ones of smaller
rank, then all.

messages-for-names: The ranks send messages to each other. One collective call tells every rank what it needs, and MPI
knows good ways to do that.

many-collectives: One call of your function makes {{n}} collective calls on a rank. Two are enough, whatever you do.
""")


def places(hosts: list[str], alike: Callable[[str, str], bool] = operator.eq) -> Pairs:
    """By rank, its place among those whose host is `alike`, and their number."""
    groups = [[rank for rank, other in enumerate(hosts) if alike(host, other)] for host in hosts]
    return [(sum(each < rank for each in group), len(group)) for rank, group in enumerate(groups)]


def neighbours(hosts: list[str]) -> Pairs:
    """The same for ranks that follow each other."""
    runs: list[list[str]] = []
    for host in hosts:
        if not runs or runs[-1][0] != host:
            runs.append([])
        runs[-1].append(host)
    return [(place, len(run)) for run in runs for place in range(len(run))]


def known_mistakes(call: Call) -> dict[str, tuple[Pairs, ...]]:
    """The pairs that each mistake gives."""
    hosts = call.arguments["hosts"]
    right, size, nodes = places(hosts), len(hosts), [*dict.fromkeys(hosts)]
    few, sizes, by_run = max(1, size // len(nodes)), [total for _, total in right], neighbours(hosts)
    return {
        "rank-modulo": ([(rank % total, total) for rank, total in enumerate(sizes)],),
        "name-begins-alike": (
            places(hosts, lambda own, other: other.startswith(own)),
            places(hosts, lambda own, other: own.startswith(other)),
            places(hosts, lambda one, two: one.startswith(two) or two.startswith(one)),
        ),
        "name-cut-at-the-dot": (places(hosts, lambda one, two: one.partition(".")[0] == two.partition(".")[0]),),
        "nodes-apart-by-hash": ([(0, 1)] * size,),
        "number-of-the-node": tuple(
            [(order.index(host), total) for host, total in zip(hosts, sizes, strict=True)]
            for order in (nodes, sorted(nodes))
        ),
        "rank-of-all-ranks": ([(rank, size) for rank in range(size)], [*enumerate(sizes)]),
        "counts-from-one": ([(place + 1, total) for place, total in right],),
        "nodes-of-equal-size": ([(rank % few, few) for rank in range(size)], [(place, few) for place, _ in right]),
        "neighbours-only": (by_run, [(place, total) for (place, _), total in zip(by_run, sizes, strict=True)]),
        "reversed-order": ([(total - 1 - place, total) for place, total in right],),
    }


MISTAKES = MistakesGiving(
    f"""
    rank-modulo: {SHOWN}. That is right only where the ranks of a node follow each other. Which ranks of `comm` are on
    the same host as rank {{rank}}?

    name-begins-alike: {SHOWN}. It takes two nodes for one when one name begins with the other, as node1 and node10 do.
    When are two names the same?

    name-cut-at-the-dot: {SHOWN}. It takes two nodes for one when their names differ only behind the first dot. The
    whole name says which node it is.

    nodes-apart-by-hash: {SHOWN}, as if every rank were alone on its node. Python's `hash` of a string differs from
    process to process. What do two ranks on the same host really have in common?

    number-of-the-node: {SHOWN}. Its first number is that of the node, which all ranks on it share. The local rank tells
    the ranks on one node apart.

    rank-of-all-ranks: {SHOWN}: numbers among all ranks, as if they were on one node. This machine is one indeed, but
    here only the argument `host` says where a rank is.

    counts-from-one: {SHOWN}. A node's first local rank is 0: how many ranks on the same host come *before* this one?

    nodes-of-equal-size: {SHOWN}: it shares the ranks out evenly among the nodes. Nodes may hold different numbers of
    ranks. Count those that have the same host.

    neighbours-only: {SHOWN}. It counts ranks on the same host only as far as they follow each other without a gap.
    Others may stand between them.

    reversed-order: {SHOWN}. On each node it counts from the last rank down. Local ranks are in the order of the ranks.
    """,
    known_mistakes,
)


@dataclass(frozen=True)
class PartOfPair:
    """Judge of one of the two numbers. part: 0, the local rank; 1, the local size."""

    part: int

    def __call__(self, call: Call) -> Wrong | None:
        """The first rank of which the number is another one."""
        pairs, hosts = call.of("pair"), call.arguments["hosts"]
        if None in pairs:
            rank = pairs.index(None)
            return words("not-place-and-size", rank=rank, text=call.of("text")[rank])
        right = places(hosts)
        if [pair[self.part] for pair in pairs] == [pair[self.part] for pair in right]:
            return None
        rank = next(rank for rank, pair in enumerate(pairs) if pair != right[rank])
        about = {"in_order": ", ".join(hosts), "rank": rank, "actual": in_words(pairs), "expected": in_words(right)}
        return words("wrong-place", compared=True, **about)

    def gives(self, call: Call, value: Pairs) -> bool:
        """Whether the ranks returned these pairs."""
        return call.of("pair") == value


def in_words(pairs: Pairs) -> str:
    """Pairs as text."""
    return ", ".join(f"({place}, {total})" for place, total in pairs)


@of_record
def two_collectives(call: Call) -> Wrong | None:
    """At most two collective calls a rank, of mpi4py, and no messages."""
    if wrong := first(wrong_group(call.size, group_sizes(call.events)) or only("mpi4py", call.events)):
        return wrong
    if any(event["kind"] in MESSAGES for log in call.events for event in log):
        return words("messages-for-names")
    most = max(sum(event["kind"] != "probe" for event in log) for log in call.events)
    return words("many-collectives", n=most) if most > 2 else None


class LocalPlace(CallCheck):
    """Local rank and local size, on nodes that are only names."""

    todo, probe = "local_place", local_place.PROBE
    inputs = ("hosts",)
    consolidation = (
        "A rank learns about the others only by communicating: one collective call tells all of them all names. On a "
        "cluster, the local rank says which of a node's GPUs is this rank's."
    )
    criteria = (
        Criterion(
            "local-rank",
            1,
            "the local rank is how many ranks of `comm` on the same node have a smaller rank",
            PartOfPair(0),
            MISTAKES,
        ),
        Criterion(
            "local-size",
            0.5,
            "the local size is how many ranks of `comm` are on this node",
            PartOfPair(1),
            MISTAKES,
            after=("local-rank",),
        ),
        Criterion(
            "calls",
            0.5,
            "at most two collective calls, and no point-to-point messages (section 2). A `Split` (section 5) is "
            "a collective call, too",
            two_collectives,
        ),
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """Nodes whose ranks do and do not follow each other, of unequal sizes, a name that begins another, and two
        names that differ only behind the dot."""
        number = rng.randint(1, 9)
        a, b, c = f"node{number}", f"node{number}{rng.randint(0, 9)}", f"gpu-{rng.randint(10, 99)}.cluster"
        names = {"a": a, "b": b, "c": c, "d": f"{c.partition('.')[0]}.cloud"}

        def case(ranks: list[int], *hosts: str) -> dict:
            calls = [{"hosts": [names[letter] for letter in each]} for each in hosts]
            return {"ranks": ranks, "calls": calls, "late": rng.randrange(len(ranks))}

        cases = [case([0, 1, 2, 3], "abab", "aaba", "bcca", "cddc"), case([2, 0, 3], "aba", "caa", "ccc")]
        cases += [case([1, 3], "ab", "aa"), case([rng.randrange(4)], "a")]
        return [*cases, case([3, 1, 0, 2], "baab", "abbb", "aabb", "cbca"), case([1, 3, 2], "bab", "bca")]


CHECK = LocalPlace()
