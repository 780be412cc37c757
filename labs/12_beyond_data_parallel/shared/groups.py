"""The group of the first and the last rank, in which some calls are made: those with ``ends``."""

from __future__ import annotations

from typing import Any

import torch.distributed as dist


def members_of(call: dict, size: int) -> list[int]:
    """The ranks that make a call."""
    return [0, size - 1] if call["ends"] else [*range(size)]


def own_group(rank: Any, call: dict) -> tuple[bool, list]:
    """Whether this rank makes a call, and what it gives as `group`, as a list of arguments: nothing for the default
    group. The other one is made once for all calls."""
    if not call["ends"]:
        return True, []
    if "group" not in rank.notes:
        rank.notes["group"] = dist.new_group([0, rank.size - 1])
    return rank.rank in members_of(call, rank.size), [rank.notes["group"]]
