"""Verdicts on the device that each rank chooses, on nodes with GPUs and without; see `autograde.probes.simulated_node`.

Where each rank of a node can have a GPU of its own, its device is the GPU with the number of its local rank, and the
current one from then on; else it is the CPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import eq
from typing import TypedDict

from autograde.contract.findings import Findings
from autograde.contract.schema import integer, optional, record, string
from autograde.contract.verdict import Diagnosis, Finding
from autograde.verdicts.diagnosis import diagnose

finding = Findings("""
not-a-device 1
What rank {rank} returns is of type {kind}; a torch.device is expected.

cpu-for-gpu 1
The check simulates {node}, so each rank can have its own. Rank {rank} gets {device}. How does your code count GPUs and
ranks?

gpu-for-cpu 1
The check simulates {node}, so not every rank can have its own. Rank {rank} gets {device}. With which number do you
compare the number of GPUs?

rank-for-local-rank 1.5
The check simulates {node}. On it, rank {rank} is number {local}, and gets {device}. Other nodes have GPUs of their own,
which are numbered from 0 again. Which of a rank's numbers counts on its own node?

one-gpu-for-all 1
The check simulates {node}. Rank {rank}, which is number {local} on it, gets {device}, and so do the other ranks of the
node: they would share one GPU, and the others would idle. What tells the ranks of a node apart?

wrong-gpu 1
The check simulates {node}. Rank {rank}, which is number {local} on it, gets {device}; the GPU with number {local} is
expected.

not-current 1
The check simulates {node}. Rank {rank} should compute on {device}, but its current GPU is number {current}: whatever is
sent to plain "cuda" goes there. What makes a device the current one?

no-such-gpu 1
The check simulates {node}. On it, rank {rank} makes number {current} its current GPU, and there is none of that number.
From where does each node count?
""")

DEVICE = record(type=string(), index=optional(integer()))


Place = tuple[int, int]  # local rank, and the number of ranks on this node


class Chosen(TypedDict):
    """What a rank chose. kind: type of what came back. device: its type and index, None unless it is a torch.device.
    current: number of the GPU that was made the current one, None where none was."""

    kind: str
    device: dict | None
    current: int | None


def chosen_schema() -> dict[str, dict]:
    """Schemas of `Chosen`, by name."""
    return {"kind": string(), "device": optional(DEVICE), "current": optional(integer())}


def device_mistakes(local: Sequence[Place], gpus: int, chosen: Sequence[Chosen]) -> list[Finding | Diagnosis]:
    """What is wrong with the devices that ranks choose on nodes with `gpus` GPUs each.

    local: of each rank its local rank, and the number of ranks on its node. chosen: by rank.
    """
    found: list[Finding | Diagnosis] = []
    with_gpu: list[int] = []
    for rank, (own, (number, many)) in enumerate(zip(chosen, local, strict=True)):
        about = {"rank": rank, "local": number, "node": node_in_words(many, gpus)}
        about |= {"device": named(own), "kind": own["kind"]}
        if own["device"] is None:
            found.append(finding("not-a-device", **about))
        elif gpus < many and own["device"]["type"] != "cpu":
            found.append(finding("gpu-for-cpu", **about))
        elif gpus >= many and own["device"]["type"] != "cuda":
            found.append(finding("cpu-for-gpu", **about))
        else:
            index, current = index_of(own), own["current"] or 0
            if gpus >= many:
                with_gpu.append(rank)
            if current >= max(1, gpus) and own["device"]["index"] in (None, number):
                found.append(finding("no-such-gpu", current=current, **about))
            elif index == number != current:
                found.append(finding("not-current", current=current, **about))
    return [*found, number_mistake(local, gpus, chosen, with_gpu)] if with_gpu else found


def number_mistake(local: Sequence[Place], gpus: int, chosen: Sequence[Chosen], ranks: list[int]) -> Diagnosis:
    """Which number the `ranks` that choose a GPU went by."""
    actual, expected = [index_of(chosen[rank]) for rank in ranks], [local[rank][0] for rank in ranks]
    candidates = {
        "rank-for-local-rank": ranks,
        "rank-for-local-rank/modulo": [rank % gpus for rank in ranks],
        "one-gpu-for-all": [0] * len(ranks),
    }
    wrong = next((place for place, number in enumerate(actual) if number != expected[place]), 0)
    number, many = local[ranks[wrong]]
    about = {"rank": ranks[wrong], "local": number, "node": node_in_words(many, gpus)}
    about["device"] = named(chosen[ranks[wrong]])

    def about_rank(key: str) -> Finding:
        return finding(key, **about)

    return diagnose("device", actual, expected, candidates, about_rank, "wrong-gpu", eq)


def index_of(chosen: Chosen) -> int | None:
    """The number of the GPU that was chosen: a plain `cuda` is the current one."""
    device = chosen["device"]
    return (chosen["current"] or 0) if device["type"] == "cuda" and device["index"] is None else device["index"]


def node_in_words(ranks: int, gpus: int) -> str:
    """A node as findings call it: ``a node with 2 ranks and 1 GPU``."""
    return f"a node with {ranks} rank{'s' * (ranks != 1)} and {gpus} GPU{'s' * (gpus != 1)}"


def named(chosen: Chosen) -> str:
    """A device in words."""
    if chosen["device"] is None:
        return "no device"
    kind, index = chosen["device"]["type"], chosen["device"]["index"]
    return f'torch.device("{kind}")' if index is None else f'torch.device("{kind}", {index})'
