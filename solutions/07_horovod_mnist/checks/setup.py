"""The check of `setup`: the device of each rank, on nodes with GPUs and without."""

from autograde.rubric import DEVICE_MISTAKES, CallCheck, Criterion, Words, device_chosen

from ..probes import setup

words = Words("""
not-initialised: After `setup`, Horovod is not initialised on {who}.
""")


def initialised(call):
    return words.on_ranks("not-initialised", [rank for rank, seen in enumerate(call.seen) if not seen.initialised])


def for_each_rank(arguments):
    """Whether the nodes, which have equally many ranks, have as many GPUs."""
    return arguments["gpus"] >= arguments["local"][0][1]


def cases(rng):
    """Nodes whose ranks are not in order, or with one rank; more GPUs than ranks, as many, fewer, none."""
    order = rng.choice([[0, 0, 1, 1], [1, 0, 0, 1], [1, 1, 0, 0]])
    nodes = [(order, 2, 2), ([0, 1, 2, 3], 4, 0), ([0, 1, 2, 3], 4, rng.choice((1, 2, 3))), ([1, 0, 1, 0], 2, 3)]
    nodes += [([0, 0, 0, 0], 1, 1), ([0, 1, 2, 3], 4, 8), (order[::-1], 2, 1)]
    return [(4, *({"local": [[own, ranks] for own in local], "gpus": gpus} for local, ranks, gpus in nodes))]


CHECK = CallCheck.of(
    "setup",
    setup.PROBE,
    cases,
    Criterion("initialised", 0.5, "Horovod is initialised, and a second call does no harm", initialised),
    Criterion(
        "gpu",
        1,
        "where torch finds at least as many GPUs on the node as the node has ranks, the device is `cuda:<local rank>`, "
        "and becomes the rank's current device",
        device_chosen,
        DEVICE_MISTAKES,
        on=for_each_rank,
    ),
    Criterion(
        "cpu",
        0.5,
        "otherwise it is `cpu`",
        device_chosen,
        DEVICE_MISTAKES,
        on=lambda arguments: not for_each_rank(arguments),
    ),
    consolidation="The rank counts through all nodes, and GPUs are numbered anew on each, so the local rank chooses "
    "the GPU. Made the current device, it is also where a plain `cuda` leads.",
)
