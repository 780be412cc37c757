"""The user's view of the ranks: worlds, runs, reports, the stop button."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from course.world.placeholders import COMM, RANK, SIZE

if TYPE_CHECKING:
    from course.world.world import RANKS, NotEnoughRanks, RanksFailed, World, WorldError

__all__ = ["COMM", "RANK", "RANKS", "SIZE", "NotEnoughRanks", "RanksFailed", "World", "WorldError"]


def __getattr__(name: str) -> Any:
    """What is in `course.world.world`, once it is asked for: it imports ipyparallel, which takes half a second, and who
    needs another module of this package need not wait for it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from course.world import world

    return getattr(world, name)
