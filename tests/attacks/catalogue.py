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

from autograde.sandbox.limits import MIB, least_memory

# Limits of a group, over those of the harness. They are reached sooner, also where this machine has other work.
MEMORY = least_memory() + 32 * MIB
LIMITS = {"bombs": {"cpu": 5.0, "memory": MEMORY}, "floods": {"memory": MEMORY}}
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
