"""The check of `two_level_sum`: the sum on every rank, and who takes part in what joins several hosts."""

from collections import defaultdict

import numpy as np

from autograde.rubric import (
    MESSAGES,
    CallCheck,
    Criterion,
    EachRankReturnsArray,
    Errors,
    Mistakes,
    Ranks,
    Words,
    alike,
    arrays,
    arrays_stay,
    changed,
    finished,
    first_of,
    of_call,
    of_library,
    of_record,
    partners,
    total,
)

from ..probes import two_level_sum

NAME = 200  # bytes that may go through all ranks: a host's name
FEW = 10  # calls of so many bytes, or fewer
CARRY_NOTHING = ("communicator", "probe", "barrier")  # kinds of calls

words = Words("""
split-by-some: A deadlock in `{op}`: {who} never made it. It is a collective call: all ranks of the communicator make
it, also those that pass `MPI.UNDEFINED`. Does it stand behind an `if`?

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
hosts_of = of_call("hosts")


def ranks_on(call):
    """The ranks of each host; the first of them stands for its leader."""
    found = defaultdict(list)
    for rank, host in enumerate(hosts_of(call)):
        found[host].append(rank)
    return found


def leaders(call):
    return [own[0] for own in ranks_on(call).values()]


def sum_over(call, ranks):
    return np.asarray(sum(arrays(call)[rank] for rank in ranks))


def of_hosts(call):
    """By rank, the sum over its own host."""
    return [sum_over(call, ranks_on(call)[host]) for host in hosts_of(call)]


def left_with_leaders(call):
    """Whether the leaders alone, who are not all, have the sum."""
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
    changed(
        sum_of_own_host=of_hosts,
        leaders_alone=lambda call: sum_over(call, leaders(call)),
        host_counted_by_ranks=lambda call: np.asarray(sum(of_hosts(call))),
    ),
    left_with_leaders=left_with_leaders,
)


@of_record
def leaders_cross(call):
    hosts, crossing, small = hosts_of(call), defaultdict(set), [0] * call.size
    named = ", ".join(hosts)
    for rank, log in enumerate(call.events):
        for event in log:
            size, ranks = max(event["bytes"] or 0, event["received"] or 0), {rank, *partners(event)}
            joined = {hosts[each] for each in ranks}
            if event["kind"] in CARRY_NOTHING or len(joined) < 2:
                continue
            if size <= NAME:
                small[rank] += not ranks <= {*leaders(call)}
            elif event["kind"] not in MESSAGES and len(joined) < len(ranks):
                crossed = words.on_ranks("hosts-apart-by-hash", apart(call), hosts=named)
                about = {"hosts": named, "op": event["op"], "bytes": size, "who": Ranks(sorted(ranks))}
                return crossed or words("all-ranks-cross", **about)
            else:
                for each in ranks:
                    crossing[hosts[each]].add(each)
    if several := next((ranks for ranks in crossing.values() if len(ranks) > 1), None):
        return words("several-cross", hosts=named, who=Ranks(sorted(several)))
    if max(small) > FEW:
        return words("in-small-pieces", hosts=named, rank=small.index(max(small)), n=max(small), few=FEW)
    alone = len({*hosts}) > 1 and not crossing
    return (SUM(call) if alone else None) or first_of(of_library("mpi4py"), finished)(call)


def apart(call):
    """Ranks that call something on a communicator of their own alone, though others are on their host."""
    lone = {rank for rank, log in enumerate(call.events) if any(event["members"] == [rank] for event in log)}
    return sorted(rank for own in ranks_on(call).values() if len(own) > 1 and {*own} <= lone for rank in own)


def broke_off(run):
    """A `Split` in which some ranks wait, and others do not."""
    if run.state != "hang" or run.full:
        return None
    last = [log[-1] if log and log[-1]["end"] is None else None for log in run.of_call(run.reached)]
    making = [event if event and event["kind"] == "communicator" else None for event in last]
    for event in filter(None, making):
        absent = [rank for rank in event["members"] or () if rank is not None and making[rank] is None]
        if absent:
            return words.on_ranks("split-by-some", absent, run.report, op=event["op"])
    return None


NOBODY = Errors(
    """
    null-communicator: {who:calls|call} a method of a communicator that is none there: `Split` with `MPI.UNDEFINED`
    gives `MPI.COMM_NULL`. Which ranks have anything to do on it?
    """,
    null_communicator="MPI_ERR_COMM|COMM_NULL|Comm object has no",
)


def cases(rng):
    """Hosts of equal and unequal size, single ones and one alone; several shapes and dtypes."""
    # One begins another, two have the same letters, and two the same last digit.
    one, two = rng.sample(range(1, 10), 2)
    names = {"a": f"node{one}{two}", "b": f"node{two}{one}", "c": f"node{two}"}
    row, table, number = ([60], "float64"), ([20, 30], "int64"), ([], "float64")
    described = [
        ([0, 1, 2, 3], ("abab", row), ("aaba", table), ("bcca", ([8, 5, 3], "float32")), ("abba", row)),
        ([2, 0, 3], ("aab", row), ("ccc", number)),
        ([3, 1], ("ab", table), ("cc", ([0], "float64"))),
        ([1], ("a", row)),
        ([3, 1, 0, 2], ("baab", table), ("abbb", row), ("cbca", row), ("aaaa", table)),
        ([1, 3, 2], ("bab", row), ("abc", table)),
    ]

    def call(hosts, array):
        return {"hosts": [names[each] for each in hosts], "shape": array[0], "dtype": array[1]}

    return [(ranks, *(call(*each) for each in calls)) for ranks, *calls in described]


THROUGH_LEADERS = (
    "arrays go from node to node through leaders only: in a call or message of more than 200 bytes, ranks of different "
    "nodes take part only if all of them are leaders"
)
TOTAL = "every rank returns the sum of all ranks' arrays, of the same shape and dtype"
CHECK = CallCheck.of(
    "two_level_sum",
    two_level_sum.PROBE,
    cases,
    Criterion("sum", 1.5, TOTAL, SUM, MISTAKES),
    Criterion("leaders", 1, THROUGH_LEADERS, leaders_cross, after=("sum",)),
    Criterion("arrays", 0.5, "`array` stays as it is, and the result is a new one", arrays_stay),
    broke_off=broke_off,
    errors=NOBODY,
    inputs=("hosts", "shape", "dtype"),
    consolidation="Within a node, exchange is cheap, and between nodes it is not: so each node adds up first, and one "
    "rank speaks for it. NCCL and Horovod can do so on large clusters.",
)
