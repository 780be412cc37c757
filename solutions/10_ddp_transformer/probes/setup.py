"""Calls of `setup` on simulated nodes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import torch
import torch.distributed as dist

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.evidence import Evidence
from autograde.probes.simulated_node import Chosen, simulated_node


class Start(Evidence):
    """A start of a process group, as `simulated_node` notes it."""

    backend: str
    rank: int
    size: int
    in_place: bool


class Seen(Evidence):
    """group: numbers in the run, by the number in the process group; None where not all ranks are in one."""

    chosen: Chosen
    starts: list[Start]
    group: list[int] | None


def numbers_in_group(comm: Any) -> list[int] | None:
    """See `Seen.group`."""
    if not all(comm.allgather(dist.is_initialized())) or len(set(comm.allgather(dist.get_world_size()))) > 1:
        return None
    everyone = [torch.zeros(1, dtype=torch.int64) for _ in range(dist.get_world_size())]
    dist.all_gather(everyone, torch.tensor([comm.rank]))
    return [int(number) for number in everyone]


def call(setup: Callable, rank: CallRank, call: dict) -> Seen:
    """`setup`. Then all ranks tell each other their numbers."""
    chosen = Chosen.of(setup(), rank.surroundings)
    rank.meet()
    return Seen(chosen, [Start(**each) for each in rank.surroundings["starts"]], numbers_in_group(rank.comm))


def around(rank: CallRank, call: dict) -> AbstractContextManager[dict]:
    """The node of a rank."""
    return simulated_node(*call["local"][rank.rank], call["gpus"])


PROBE = CallProbe(Seen, call, around=around, deadline=10, starts=True)
