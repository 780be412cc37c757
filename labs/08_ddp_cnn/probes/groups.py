"""Ranks in a process group, or one without."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from autograde.contract.call_probe import CallProbe


class GroupProbe(CallProbe):
    """Calls in a process group; where the argument `alone` is true, on a rank without one."""

    def on_ranks(self, world: Any, subject: Any, case: dict, folder: str, *around: Any) -> Any:
        """See `CallProbe`."""
        needed = replace(self, needs=None) if case["calls"][0]["alone"] else self
        return super(GroupProbe, needed).on_ranks(world, subject, case, folder, *around)
