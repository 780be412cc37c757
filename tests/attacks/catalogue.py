"""All attacks, by group. A group is graded in one go."""

from __future__ import annotations

import bombs
import endings
import escapes
import files
import floods
import forgeries
import lies
import notebooks
import patches
import readers
import survivors
import timeouts
from attack import Attack

from autograde.sandbox.resources.limits import MIB, least_memory

# Limits of a group, over those of the harness. They are reached sooner, also where this machine has other work.
MEMORY = least_memory() + 32 * MIB
LIMITS = {"bombs": {"cpu": 10.0, "memory": MEMORY}, "floods": {"memory": MEMORY}}
GROUPS: dict[str, tuple[Attack, ...]] = {
    "lies": lies.ATTACKS,
    "patches": patches.ATTACKS,
    "readers": (*readers.ATTACKS, *escapes.ATTACKS),
    "forgeries": forgeries.ATTACKS,
    "endings": endings.ATTACKS,
    "survivors": survivors.ATTACKS,
    "bombs": bombs.ATTACKS,
    "floods": floods.ATTACKS,
    "timeouts": timeouts.ATTACKS,
    "notebooks": notebooks.ATTACKS,
    "files": files.ATTACKS,
}
# The attack that shows its group best, of those that are graded soon and with the same outcome on a crowded machine.
FIRST: dict[str, str] = {
    "lies": "script",
    "patches": "patched-checks",
    "readers": "reads-submissions",
    "forgeries": "replies-itself",
    "endings": "os-exit",
    "survivors": "daemon",
    "bombs": "memory-in-one",
    "floods": "fills-tmp",
    "timeouts": "endless-loop",
    "notebooks": "more-cells",
    "files": "link-to-solution",
}


def chosen(group: str, name: str) -> bool:
    """Whether this attack is tried each time; the others only by `./lockstep test --all`."""
    return FIRST[group] == name
