"""The check of `setup`: the process group, and the device of each rank; nodes with GPUs are simulated."""

from autograde.rubric import (
    DEVICE_MISTAKES,
    CallCheck,
    Criterion,
    Mistakes,
    Same,
    Words,
    changed,
    device_chosen,
    first_of,
    node_in_words,
    on_ranks,
)

from ..probes import setup

words = Words("""
no-group: The function returns, but there is no default process group on {who}.

wrong-numbers: Rank {rank} of {size} joins the group as rank {number} of {many}. The environment says which rank it is.

own-address: The group does not meet where MASTER_ADDR and MASTER_PORT say. With an address of its own the code works
only while there is one node, and one training on it.

always-gloo: The check simulates {node}, so each rank can have its own. Rank {rank} starts the group with "{backend}".
Which backend serves GPUs?

nccl-without-gpus: The check simulates {node}. Rank {rank} starts the group with "{backend}", which needs a GPU for each
rank.
""")


def started(call):
    out = [rank for rank, own in enumerate(call.seen) if not own.starts or own.group is None]
    return words.on_ranks("no-group", out if any(call.of("starts")) else range(call.size))


def numbers(call):
    """By rank, the rank and size with which it joins, and who has which number then."""
    return [[own.starts[0].rank, own.starts[0].size, own.group] for own in call.seen]


def from_environment(call, number=lambda rank: rank):
    return [[number(rank), call.size, [*range(call.size)]] for rank in range(call.size)]


def joined_as(call, off):
    rank, number, many = off.place[0], *numbers(call)[off.place[0]][:2]
    return words("wrong-numbers", compared=True, rank=rank, size=call.size, number=number, many=many)


def in_place(call):
    return started(call) or (None if all(own.starts[0].in_place for own in call.seen) else words("own-address"))


def backend(call):
    """What serves the rank's device, or where it has none, the node. A group without a name takes both."""
    for rank, own in enumerate([] if started(call) else call.seen):
        ranks, gpus = call.arguments["local"][rank][1], call.arguments["gpus"]
        kind = (own.chosen.device or ("cuda" if gpus >= ranks else "cpu")).partition(":")[0]
        due, asked = "nccl" if kind == "cuda" else "gloo", own.starts[0].backend
        by_kind = "cpu:gloo,cuda:nccl" if asked in ("any", "undefined") else asked
        if dict(each.split(":", 1) for each in by_kind.split(",") if ":" in each).get(kind, asked) != due:
            key = "always-gloo" if due == "nccl" else "nccl-without-gpus"
            return words(key, rank=rank, node=node_in_words(ranks, gpus), backend=asked)
    return started(call)


NUMBERS = Same(numbers, from_environment, on_ranks("the place in the group"), otherwise=joined_as)
OTHER_NUMBERS = Mistakes(
    """
    local-rank-for-rank: Rank {rank} joins the group as number {number}, its number on its own node. In the group every
    number exists only once.
    """,
    changed(
        from_environment,
        local_rank_for_rank={"number": lambda call: lambda rank: call.arguments["local"][rank][0]},
    ),
)


def cases(rng):
    """No GPU; nodes of equal and of unequal sizes with just enough GPUs, or more; too few. Ranks in any order."""

    def case(ranks, nodes, gpus):
        return ranks, {"local": [[local, many] for many in nodes for local in range(many)], "gpus": gpus}

    some = rng.choice([[2, 0, 3], [3, 1, 0], [1, 3, 2]])
    cases = [case(some, [3], 0), case([3, 2, 1, 0], [2, 2], 2), case([1, 3, 0, 2], [2, 2], 1)]
    cases += [case(some, [1, 2], rng.choice([2, 3, 8])), case(some[::-1], [2, 1], rng.choice([2, 3]))]
    return [*cases, case([0, 1, 2, 3], [4], 8), case([3, 1], [2], 0)]


CHECK = CallCheck.of(
    "setup",
    setup.PROBE,
    cases,
    Criterion(
        "group",
        0.75,
        "all ranks are in one default process group, each by its number in the environment",
        first_of(started, NUMBERS),
        OTHER_NUMBERS,
    ),
    Criterion("place", 0.25, "they meet where MASTER_ADDR and MASTER_PORT say", in_place, after=("group",)),
    Criterion(
        "device",
        0.5,
        "where the node has at least as many GPUs as ranks, the device is the GPU with the number of the local rank, "
        "and the current one; else it is the CPU",
        device_chosen,
        DEVICE_MISTAKES,
    ),
    Criterion(
        "backend", 0.5, 'the backend is "nccl" for GPUs and "gloo" for the CPU', backend, after=("group", "device")
    ),
    repeats=False,
    consolidation="The launcher tells each process who it is, and the program only reads it. So one script runs on a "
    "laptop and on many nodes, with gloo or with nccl.",
)
