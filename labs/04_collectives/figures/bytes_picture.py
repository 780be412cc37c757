"""What the busiest rank sends in one collective: by formulas, and as it was counted."""

from __future__ import annotations

from collections.abc import Mapping

from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds, quiet_grid

MOST = 16  # ranks on the axis
# How many times its array the busiest rank sends, of N.
FORMULAS = {
    "broadcast, one by one": ("N - 1", lambda ranks: ranks - 1),
    "broadcast, tree": ("log2 N, rounded up", lambda ranks: (ranks - 1).bit_length()),
    "all-reduce, ring": ("2 (N - 1) / N", lambda ranks: 2 * (ranks - 1) / ranks),
}


@on_both_grounds
def bytes_picture(measured: Mapping[str, Mapping[int, int]], nbytes: int, *, ground: Ground) -> Picture:
    """Lines by the formulas, and dots for what was counted.

    measured: bytes that the busiest rank sent, by the collective's name and the number of ranks. nbytes: of the array.
    """
    told = [
        f"{name}: {', '.join(f'{sent / nbytes:.2g} with {ranks} ranks' for ranks, sent in counted.items())}"
        for name, counted in measured.items()
    ]
    alt = f"What the busiest rank sends, in sizes of the array. {'; '.join(told)}."
    figure, axes = new_figure(6.8, 4.0, alt=alt, ground=ground)
    ranks = range(2, MOST + 1)
    for number, (name, (formula, times)) in enumerate(FORMULAS.items()):
        colour = ground.text(COLOURS[number])
        drawn = "steps-post" if "log2" in formula else "default"
        axes.plot(ranks, [times(n) for n in ranks], color=colour, linewidth=1.8, drawstyle=drawn)
        counted = measured.get(name, {})
        axes.plot([*counted], [sent / nbytes for sent in counted.values()], "o", color=colour, markersize=7)
        axes.text(MOST + 0.3, times(MOST), f"{name},\n{formula}", color=colour, va="center")
    axes.set(xlabel="ranks N", ylabel="bytes sent, in sizes of the array", xlim=(1.6, MOST + 7), ylim=(0, None))
    axes.set_xticks([2, 4, 8, 12, 16])
    axes.set_title("The busiest rank. Dots: your own runs")
    quiet_grid(axes)
    return figure
