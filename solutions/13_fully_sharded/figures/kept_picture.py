"""Activations between the two passes, by the number of blocks: kept all, or recomputed."""

from __future__ import annotations

from collections.abc import Mapping

from course.figures.collectives.time_picture import in_units
from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds, quiet_grid


@on_both_grounds
def kept_picture(kept: Mapping[str, Mapping[int, int]], *, ground: Ground) -> Picture:
    """A line for each way, with a dot for each run.

    kept: bytes of activations between the forward and the backward pass, by way and number of blocks. Raises ValueError
    without any.
    """
    if not any(kept.values()):
        raise ValueError("no bytes of activations to draw")
    told = "; ".join(
        f"{way}: {', '.join(f'{in_units(size)} with {blocks} blocks' for blocks, size in own.items())}"
        for way, own in kept.items()
    )
    alt = f"Activations between the forward and the backward pass. {told}."
    figure, axes = new_figure(7.2, 3.6, alt=alt, ground=ground)
    for number, (way, own) in enumerate(kept.items()):
        colour = ground.text(COLOURS[number])
        axes.plot([*own], [size / 1e6 for size in own.values()], "o-", color=colour, linewidth=1.8, label=way)
    axes.set(xlabel="blocks", ylabel="activations [MB]", ylim=(0, None))
    axes.set_xticks(sorted({blocks for own in kept.values() for blocks in own}))
    axes.set_title("What waits for the backward pass (dots: your own runs)")
    figure.legend(loc="outside lower center", ncols=len(kept))
    quiet_grid(axes)
    return figure
