"""The roofline of a machine: how fast operations can be, by how much they compute for each byte that they move.

Williams, Waterman and Patterson 2009, "Roofline", https://doi.org/10.1145/1498765.1498785.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds, quiet_grid


class Measured(NamedTuple):
    """What an operation does, and how long it takes. flops: floating point operations. bytes: that it reads and writes,
    each once."""

    flops: float
    bytes: float
    seconds: float

    @property
    def intensity(self) -> float:
        """Floating point operations for each byte."""
        return self.flops / self.bytes

    @property
    def speed(self) -> float:
        """Floating point operations per second."""
        return self.flops / self.seconds


def roofs(measured: Mapping[str, Measured]) -> tuple[float, float]:
    """The best that any of them has reached: operations per second, and bytes per second."""
    return max(each.speed for each in measured.values()), max(each.bytes / each.seconds for each in measured.values())


@on_both_grounds
def roofline_picture(measured: Mapping[str, Measured], *, ground: Ground) -> Picture:
    """A point for each operation, below the two roofs that `roofs` finds. measured: by name."""
    peak, bandwidth = roofs(measured)
    ridge = peak / bandwidth
    told = "; ".join(
        f"{name}: {each.intensity:.3g} operations a byte, {each.speed / 1e9:.2g} GFLOP/s"
        for name, each in measured.items()
    )
    alt = f"Roofline of this machine: {bandwidth / 1e9:.2g} GB/s up to {ridge:.2g} operations a byte, then "
    alt += f"{peak / 1e9:.2g} GFLOP/s. {told}."
    figure, axes = new_figure(6.4, 4.2, alt=alt, ground=ground)
    least = min(each.intensity for each in measured.values()) / 2
    most = max(*(each.intensity for each in measured.values()), ridge) * 5  # room for a name
    roof = [(least, least * bandwidth / 1e9), (ridge, peak / 1e9), (most, peak / 1e9)]
    axes.plot(*zip(*roof, strict=True), color=ground.ink, linewidth=2, gid="roof")
    axes.annotate(
        f"{bandwidth / 1e9:.2g} GB/s",
        ((least * ridge) ** 0.5, (least * ridge) ** 0.5 * bandwidth / 1e9),
        (-8, 6),
        textcoords="offset points",
        ha="right",
    )
    axes.annotate(f"{peak / 1e9:.2g} GFLOP/s", (most, peak / 1e9), (0, 6), textcoords="offset points", ha="right")
    colour = ground.text(COLOURS[1])
    for name, each in measured.items():
        axes.plot(each.intensity, each.speed / 1e9, "o", color=colour, markersize=8, gid="operation")
        axes.annotate(name, (each.intensity, each.speed / 1e9), (8, -13), textcoords="offset points", color=colour)
    axes.set(xscale="log", yscale="log", xlim=(least, most))
    axes.set(xlabel="operations for each byte (FLOP/byte)", ylabel="operations a second (GFLOP/s)")
    axes.set_title("How fast this machine can be, and is")
    quiet_grid(axes)
    return figure
