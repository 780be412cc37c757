"""Notes in a timeline, see `course.watch.notes`: a sign above the rank's bars at each moment, by name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from course.watch.events import Event
from course.watch.notes import note_of

SIGNS = ("v", "D", "s", "P", "*")  # of the first names; all others share the last one
OTHERS = "other notes"


class Moments:
    """The notes of a run. events: by rank."""

    def __init__(self, events: Sequence[Sequence[Event]]) -> None:
        self.of_ranks = [[(event["start"], note_of(event)) for event in rank if note_of(event)] for rank in events]
        names = [*dict.fromkeys(name for rank in self.of_ranks for _, name in rank)]
        kept = names if len(names) <= len(SIGNS) else [*names[: len(SIGNS) - 1], OTHERS]
        self.signs = dict(zip(kept, SIGNS, strict=False))

    def draw(self, axes: Axes, row: int, scale: float, thickness: float, ink: str) -> None:
        """Draw the notes of a rank. scale: from seconds to the axis's unit. thickness: of a row's bars, in rows."""
        for name, sign in self.signs.items():
            moments = [at * scale for at, noted in self.of_ranks[row] if self.shown(noted) == name]
            if moments:
                above = [row - thickness / 2 - 0.08] * len(moments)
                axes.plot(moments, above, sign, color=ink, markersize=4, linewidth=0, zorder=5, gid="notes")

    def shown(self, name: str) -> str:
        """The name under which a note is in the legend."""
        return name if name in self.signs else OTHERS

    def legend(self, ink: str) -> Iterator[Artist]:
        """What the signs mean."""
        for name, sign in self.signs.items():
            yield Line2D([], [], color=ink, linewidth=0, marker=sign, markersize=4, label=name)

    def words(self) -> str:
        """The notes in a sentence; empty if there are none."""
        return f" Noted: {', '.join(self.signs)}." if self.signs else ""
