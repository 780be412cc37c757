"""The judge of the device that each rank chooses on nodes that are simulated, with GPUs and without.

A call's arguments say what `autograde.probes.simulated_node` simulates: ``local``, of each rank its local rank and the
number of ranks on its node, and ``gpus`` on each node. What a rank showed is `chosen`, a `Chosen`.
"""

from __future__ import annotations

from collections.abc import Callable

from autograde.probes.simulated_node import Chosen
from autograde.rubric.judge import Call, first_of, once
from autograde.rubric.mistakes import Mistakes, changed
from autograde.rubric.values.same import Difference, Same, on_ranks
from autograde.rubric.words import Words, Wrong, counted

words = Words("""
not-a-device: What rank {rank} returns is of type {kind}; a torch.device is expected.

cpu-for-gpu: The check simulates {node}, so each rank can have its own. Rank {rank} gets {device}. How does your code
count GPUs and ranks?

gpu-for-cpu: The check simulates {node}, so not every rank can have its own. Rank {rank} gets {device}. With which
number do you compare the number of GPUs?

wrong-gpu: The check simulates {node}. Rank {rank} has the local rank {local}, and gets {device}; the GPU of this
number is expected.

not-current: The check simulates {node}. Rank {rank} should compute on {device}, but its current GPU is number
{current}: whatever is sent to plain "cuda" goes there. What makes a device the current one?

no-such-gpu: The check simulates {node}. On it, rank {rank} makes number {current} its current GPU, and there is none of
that number. From where does each node count?
""")


def node_in_words(ranks: int, gpus: int) -> str:
    """A node as messages call it: ``a node with 2 ranks and 1 GPU``."""
    return f"a node with {counted(ranks, 'rank')} and {counted(gpus, 'GPU')}"


def about(call: Call, rank: int) -> dict:
    """Facts on one rank, for words. The device has the name under which torch shows it."""
    (local, ranks), chosen, gpus = call.arguments["local"][rank], call.seen[rank].chosen, call.arguments["gpus"]
    kind, _, index = (chosen.device or "").partition(":")
    device = f'torch.device("{kind}"{index and f", {index}"})' if kind else "no device"
    facts = {"rank": rank, "local": local, "node": node_in_words(ranks, gpus), "device": device}
    return {**facts, "kind": chosen.kind, "current": chosen.current or 0}


def devices(call: Call, number: Callable[[int], int] | None = None) -> list[str]:
    """By rank, the device that is right. number: of a rank, by which it would choose, if not by its local one."""
    local, gpus = call.arguments["local"], call.arguments["gpus"]
    numbers = [number(rank) if number else own for rank, (own, _) in enumerate(local)]
    return [f"cuda:{each}" if gpus >= ranks else "cpu" for each, (_, ranks) in zip(numbers, local, strict=True)]


@once
def chosen(call: Call) -> list[Chosen]:
    """What each rank chose."""
    return call.of("chosen")


def unlike(call: Call, off: Difference) -> Wrong | None:
    """The words for a rank with another device."""
    if not off.place:
        return None
    kinds = "not-a-device" if off.actual is None else "cpu-for-gpu" if off.actual == "cpu" else "wrong-gpu"
    return words("gpu-for-cpu" if off.expected == "cpu" and off.actual else kinds, **about(call, off.place[0]))


def current(call: Call) -> Wrong | None:
    """The GPU that a rank computes on is its current one; and there is one of this number."""
    for rank, due in enumerate(devices(call)):
        number = chosen(call)[rank].current or 0
        if number >= max(1, call.arguments["gpus"]):
            return words("no-such-gpu", **about(call, rank))
        if due not in ("cpu", f"cuda:{number}"):
            return words("not-current", **about(call, rank))
    return None


DEVICE = Same(lambda call: [each.device for each in chosen(call)], devices, on_ranks("the device"), otherwise=unlike)
# Judge: each rank has the device of its place on its node, and makes it the current one.
device_chosen = first_of(DEVICE, current)
# Mistakes of those who go by another number than the local rank.
DEVICE_MISTAKES = Mistakes(
    """
    rank-for-local-rank: The check simulates {node}. Rank {rank} has the local rank {local} on it, and gets {device}.
    Other nodes have GPUs of their own, which are numbered from 0 again. Which of a rank's numbers counts on its own
    node?

    one-gpu-for-all: The check simulates {node}. Rank {rank} has the local rank {local}, and gets {device}, as the
    other ranks of the node do: they would share one GPU, and the others would idle. What tells the ranks of a node
    apart?
    """,
    changed(
        devices,
        rank_for_local_rank=[
            {"number": lambda call: lambda rank: rank},
            {"number": lambda call: lambda rank: rank % max(1, call.arguments["gpus"])},
        ],
        one_gpu_for_all={"number": lambda call: lambda rank: 0},
    ),
)
