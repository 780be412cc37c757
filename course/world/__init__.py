"""The user's view of the ranks: worlds, runs, reports, the stop button."""

from course.world.world import COMM, RANK, RANKS, SIZE, NotEnoughRanks, RanksFailed, World, WorldError

__all__ = ["COMM", "RANK", "RANKS", "SIZE", "NotEnoughRanks", "RanksFailed", "World", "WorldError"]
