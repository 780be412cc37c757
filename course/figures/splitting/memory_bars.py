"""What each rank keeps in memory, by the way in which a model is split."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from course.figures.collectives.time_picture import in_units
from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds, quiet_grid

PARTS = {"weights": COLOURS[0], "gradients": COLOURS[2], "optimizer": COLOURS[4], "activations": COLOURS[3]}
BETWEEN = 1.0  # bars of space between two ways
UNITS = {"MB": 1e6, "kB": 1e3, "B": 1.0}


@on_both_grounds
def memory_bars(memory: Mapping[str, Sequence[Mapping[str, int]]], *, ground: Ground) -> Picture:
    """A bar for each rank, stacked of its weights, gradients, optimizer state and activations.

    memory: bytes, by the way of splitting, by rank, by part. Raises ValueError for other parts, or none.
    """
    parts = {part for ranks in memory.values() for own in ranks for part in own}
    if not parts or parts - {*PARTS}:
        raise ValueError(f"memory has the parts {', '.join(PARTS)}, not {', '.join(sorted(parts)) or 'none'}")
    totals = {name: [sum(own.values()) for own in ranks] for name, ranks in memory.items()}
    told = "; ".join(f"{name} {spread(own)}" for name, own in totals.items())
    alt = f"Bytes in the memory of each rank: {told}."
    most = max(max(own) for own in totals.values())
    unit, factor = next(((unit, by) for unit, by in UNITS.items() if most >= by), ("B", 1.0))
    figure, axes = new_figure(8.9, 4.2, alt=alt, ground=ground)
    digits = max(0, 2 - int(math.log10(max(most / factor, 1))))  # three in all
    left, ticks, middles = 0.0, [], []
    for ranks in memory.values():
        for rank, own in enumerate(ranks):
            floor = 0.0
            for part, colour in PARTS.items():
                high = own.get(part, 0) / factor
                axes.bar(left + rank, high, 0.84, floor, color=colour)
                floor += high
            axes.text(left + rank, floor + 0.012 * most / factor, f"{floor:.{digits}f}", ha="center", fontsize=8)
            ticks.append((left + rank, str(rank)))
        middles.append(left + (len(ranks) - 1) / 2)
        left += len(ranks) + BETWEEN
    axes.set_xticks(*zip(*ticks, strict=True))
    names = axes.secondary_xaxis(-0.085)
    names.set_xticks(middles, [name.replace(" ", "\n", 1) for name in memory])
    names.tick_params(length=0, labelsize=9.5)
    names.spines[:].set_visible(False)
    axes.tick_params(axis="x", length=0, pad=8)
    axes.set(ylabel=f"memory [{unit}]", xlim=(-0.8, left - BETWEEN - 0.2), ylim=(0, 1.12 * most / factor))
    axes.annotate("rank", (0, 0), (-6, -8), "axes fraction", "offset points", ha="right", va="top")
    axes.set_title("What each rank keeps")
    there = {part: axes.bar(0, 0, color=colour) for part, colour in PARTS.items() if part in parts}
    figure.legend(there.values(), there, loc="outside lower center", ncols=len(there))
    quiet_grid(axes, "y")
    return figure


def spread(totals: Sequence[int]) -> str:
    """``2 MB``, or ``1 to 2 MB`` where ranks differ."""
    least, most = in_units(min(totals)), in_units(max(totals))
    return most if least == most else f"{least} to {most}"
