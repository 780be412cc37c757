"""When batches are fetched, and when they are used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from course.figures.contrast import ink_on
from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds, quiet_grid

from .colours import COMPUTING

FETCHING = COLOURS[4]
Moments = Sequence[tuple[float, float]]  # by batch, when something begins and ends, in seconds


@on_both_grounds
def fetching_picture(runs: Mapping[str, tuple[Moments, Moments]], *, ground: Ground) -> Picture:
    """Two rows for each run. runs: by title, when each batch is fetched, and when it is used."""
    ends = {title: max(end for _, end in used) for title, (_, used) in runs.items()}
    told = "; ".join(f"{title}, the last batch is used after {1e3 * end:.0f} ms" for title, end in ends.items())
    figure, whole = new_figure(7.6, 1.2 * len(runs) + 0.7, alt=f"{told}.", ground=ground)
    whole.remove()
    panels = [*figure.subplots(len(runs), 1, squeeze=False).flat]
    most = 1e3 * max(ends.values())
    for axes, (title, both) in zip(panels, runs.items(), strict=True):
        for row, (moments, colour) in enumerate(zip(both, (FETCHING, COMPUTING), strict=True)):
            for number, (start, end) in enumerate(moments):
                look = {"color": colour, "edgecolor": ground.paper, "linewidth": 0.6}
                axes.barh(row, 1e3 * (end - start), 0.7, left=1e3 * start, **look)
                if 1e3 * (end - start) > 0.02 * most:
                    middle = 1e3 * (start + end) / 2
                    about = {"ha": "center", "va": "center", "fontsize": 8, "color": ink_on(colour)}
                    axes.text(middle, row, str(number), **about)
        axes.set_yticks(range(2), ["fetched", "used"])
        axes.tick_params(axis="y", length=0)
        axes.set(title=title, xlim=(0, 1.01 * most), ylim=(1.5, -0.5))
        quiet_grid(axes, "x")
    panels[-1].set_xlabel("time [ms]")
    return figure
