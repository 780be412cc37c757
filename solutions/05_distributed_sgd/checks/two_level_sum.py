"""The check of `two_level_sum`."""

from __future__ import annotations

import random
from collections import defaultdict

import numpy as np

from autograde.rubric.array_check import arrays, total
from autograde.rubric.check import CallCheck
from autograde.rubric.criterion import Call, Criterion, Gives, Mistakes, of_record
from autograde.rubric.judges.arrays import EachRankReturnsArray, alike
from autograde.rubric.judges.conduct import arrays_stay
from autograde.rubric.judges.messages import first, waited_for
from autograde.rubric.run import Run
from autograde.rubric.words import Ranks, Words, Wrong
from autograde.verdicts.collectives import MESSAGES, only

from ..probes import two_level_sum

NAME = 200  # bytes that may go through all ranks: a host's name
FEW = 10  # calls of so many bytes, or fewer
CARRY_NOTHING = ("communicator", "probe", "barrier")  # kinds of calls

words = Words("""
split-by-some: A deadlock in `{op}`: {who} never made it. It is a collective call: all ranks of the communicator make
it, also those that pass `MPI.UNDEFINED`. Does it stand behind an `if`?

null-communicator: {who:calls|call} a method of a communicator that is none there: `Split` with `MPI.UNDEFINED` gives
`MPI.COMM_NULL`. Which ranks have anything to do on it?

all-ranks-cross: With hosts {hosts}, {op} of {bytes:byte} joins {who}, several of one host. All of them send over the
network: one rank of each host is enough.

hosts-apart-by-hash: With hosts {hosts}, {who:makes|make} calls on communicators of their own, as if each were alone on
its host, and then exchange with all. Python's `hash` of a string differs from process to process. What do two ranks on
the same host really have in common?

in-small-pieces: With hosts {hosts}, rank {rank} makes {n:call} of at most 200 bytes that join several hosts; {few} are
enough for names. An array in pieces is an array.

several-cross: With hosts {hosts}, {who} of one host all exchange with other hosts. It should always be the same one of
a host.
""")


def sums_by_host(call: Call) -> dict[str, np.ndarray]:
    """The sum of the arrays of each host's ranks."""
    hosts = call.arguments["hosts"]
    own = [*zip(hosts, arrays(call), strict=True)]
    return {host: np.asarray(sum(array for on, array in own if on == host)) for host in dict.fromkeys(hosts)}


def leaders(call: Call) -> list[int]:
    """The first rank of each host."""
    hosts = call.arguments["hosts"]
    return [hosts.index(host) for host in dict.fromkeys(hosts)]


def left_with_leaders(call: Call) -> dict | bool | None:
    """Whether the leaders alone, who are not all, have the sum: who, as facts for the words."""
    ranks = [rank for rank, seen in enumerate(call.seen) if alike(seen.result.entries, total(call))]
    if len(leaders(call)) == call.size or not total(call).size:
        return None
    return {"who": Ranks(ranks)} if ranks == leaders(call) else False


SUM = EachRankReturnsArray(total)
MISTAKES = Mistakes(
    """
    sum-of-own-host: Each rank returns the sum over its own host. Where do the other hosts' sums come in?

    leaders-alone: The result is the sum of one rank's array of each host. What should such a rank add up before it goes
    to the other hosts?

    host-counted-by-ranks: Each host's sum is counted as often as the host has ranks. Who takes part in the sum over the
    hosts?

    left-with-leaders: Only {who:has|have} the sum over all ranks. How do the others on their host get it?
    """,
    sum_of_own_host=lambda call: Gives([sums_by_host(call)[host] for host in call.arguments["hosts"]]),
    leaders_alone=lambda call: Gives(np.asarray(sum(arrays(call)[rank] for rank in leaders(call)))),
    host_counted_by_ranks=lambda call: Gives(
        np.asarray(sum(sums_by_host(call)[host] for host in call.arguments["hosts"]))
    ),
    left_with_leaders=left_with_leaders,
)


def ranks_in(rank: int, event: dict) -> set[int]:
    """The ranks that take part in a call of this rank."""
    if event["kind"] in MESSAGES:
        return {rank, *(each for each in (event["peer"], event["source"]) if each is not None and each >= 0)}
    return {each for each in event["members"] or () if each is not None}


@of_record
def leaders_cross(call: Call) -> Wrong | None:
    """Only leaders, one for each host, take part in calls and messages that join several hosts and carry arrays."""
    hosts, crossing, small = call.arguments["hosts"], defaultdict(set), [0] * call.size
    named = ", ".join(hosts)
    for rank, log in enumerate(call.events):
        for event in log:
            size, ranks = max(event["bytes"] or 0, event["received"] or 0), ranks_in(rank, event)
            if event["kind"] in CARRY_NOTHING or len({hosts[each] for each in ranks}) < 2:
                continue
            if size <= NAME:
                small[rank] += not ranks <= {*leaders(call)}
                continue
            if event["kind"] not in MESSAGES and len({hosts[each] for each in ranks}) < len(ranks):
                if lone := apart(call):
                    return words("hosts-apart-by-hash", hosts=named, who=Ranks(lone))
                return words("all-ranks-cross", hosts=named, op=event["op"], bytes=size, who=Ranks(sorted(ranks)))
            for each in ranks:
                crossing[hosts[each]].add(each)
    if several := next((ranks for ranks in crossing.values() if len(ranks) > 1), None):
        return words("several-cross", hosts=named, who=Ranks(sorted(several)))
    if max(small) > FEW:
        return words("in-small-pieces", hosts=named, rank=small.index(max(small)), n=max(small), few=FEW)
    if len({*hosts}) > 1 and not crossing and (wrong := SUM(call)):
        return wrong
    return first(only("mpi4py", call.events)) or waited_for(call)


def apart(call: Call) -> list[int]:
    """Ranks that call something on a communicator of their own alone, though others are on their host."""
    hosts = call.arguments["hosts"]
    lone = {rank for rank, log in enumerate(call.events) if any(event["members"] == [rank] for event in log)}
    return [rank for rank, host in enumerate(hosts) if hosts.count(host) > 1 and {*ranks_on(host, hosts)} <= lone]


def ranks_on(host: str, hosts: list[str]) -> list[int]:
    """The ranks of a host."""
    return [rank for rank, other in enumerate(hosts) if other == host]


class TwoLevelSum(CallCheck):
    """The sum on every rank, and who takes part in what joins several hosts."""

    todo, probe = "two_level_sum", two_level_sum.PROBE
    inputs = ("hosts", "shape", "dtype")
    consolidation = (
        "Within a node, exchange is cheap, and between nodes it is not: so each node adds up first, and one rank "
        "speaks for it. NCCL and Horovod can do so on large clusters."
    )
    criteria = (
        Criterion(
            "sum", 1.5, "every rank returns the sum of all ranks' arrays, of the same shape and dtype", SUM, MISTAKES
        ),
        Criterion(
            "leaders",
            1,
            "arrays go from node to node through leaders only: in a call or message of more than 200 bytes, "
            "ranks of different nodes take part only if all of them are leaders",
            leaders_cross,
            after=("sum",),
        ),
        Criterion("arrays", 0.5, "`array` stays as it is, and the result is a new one", arrays_stay),
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """Hosts of equal and unequal size, single ones and one alone; several shapes and dtypes."""
        # One begins another, two have the same letters, and two the same last digit.
        one, two = rng.sample(range(1, 10), 2)
        names = {"a": f"node{one}{two}", "b": f"node{two}{one}", "c": f"node{two}"}

        def case(ranks: list[int], *calls: tuple[str, list[int], str]) -> dict:
            made = [
                {"hosts": [names[a] for a in on], "shape": shape, "dtype": dtype, "seed": rng.getrandbits(32)}
                for on, shape, dtype in calls
            ]
            return {"ranks": ranks, "calls": made, "late": rng.randrange(len(ranks))}

        many, table, number_alone = ([60], "float64"), ([20, 30], "int64"), ([], "float64")
        return [
            case([0, 1, 2, 3], ("abab", *many), ("aaba", *table), ("bcca", [8, 5, 3], "float32"), ("abba", *many)),
            case([2, 0, 3], ("aab", *many), ("ccc", *number_alone)),
            case([3, 1], ("ab", *table), ("cc", [0], "float64")),
            case([1], ("a", *many)),
            case([3, 1, 0, 2], ("baab", *table), ("abbb", *many), ("cbca", *many), ("aaaa", *table)),
            case([1, 3, 2], ("bab", *many), ("abc", *table)),
        ]

    def broke_off(self, run: Run) -> Wrong | None:
        """A call on the communicator that is none, or a `Split` in which some ranks wait, and others do not."""
        texts = ("MPI_ERR_COMM", "COMM_NULL", "Comm object has no")
        messages = [(rank["error"] or {}).get("message", "") for rank in run.ranks]
        nobody = [rank for rank, message in enumerate(messages) if any(text in message for text in texts)]
        if nobody:
            return words("null-communicator", run.report, who=Ranks(nobody))
        if run.state != "hang" or run.full:
            return None
        last = [log[-1] if log and log[-1]["end"] is None else None for log in run.of_call(run.reached)]
        making = [event if event and event["kind"] == "communicator" else None for event in last]
        for event in filter(None, making):
            absent = [rank for rank in event["members"] or () if rank is not None and making[rank] is None]
            if absent:
                return words("split-by-some", run.report, op=event["op"], who=Ranks(absent))
        return None


CHECK = TwoLevelSum()
