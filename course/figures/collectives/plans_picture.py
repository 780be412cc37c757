"""Tree or ring: the seconds of an all-reduce by either plan, as two straight rules give them."""

from __future__ import annotations

import numpy as np

from course.figures.collectives.fit import crossing, ring_seconds, tree_seconds
from course.figures.collectives.time_picture import in_units
from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds, quiet_grid


@on_both_grounds
def plans_picture(size: int, alpha: float, beta: float, guess: float | None = None, *, ground: Ground) -> Picture:
    """Milliseconds against bytes, from 1 kB to 1 GB. size: ranks. alpha: in seconds. beta: in seconds per byte.

    guess: from how many bytes on the reader takes the ring to be faster.
    """
    meet = crossing(alpha, beta, size)
    alt = f"An all-reduce on {size} ranks: a tree is faster for small arrays, a ring from {in_units(meet)} on."
    alt += f" You guessed {in_units(guess)}." if guess else ""
    figure, axes = new_figure(6.8, 3.8, alt=alt, ground=ground)
    along = np.geomspace(1e3, 1e9, 80)
    for number, (name, seconds) in enumerate((("tree", tree_seconds), ("ring", ring_seconds))):
        axes.plot(along, [1e3 * seconds(n, size, alpha, beta) for n in along], color=COLOURS[number], label=name)
    axes.axvline(meet, color=ground.faint, linestyle=":")
    place = {"xytext": (7, 0), "textcoords": "offset points", "xycoords": ("data", "axes fraction"), "va": "bottom"}
    axes.annotate(f"{in_units(meet)}: from here on\nthe ring is faster", (meet, 0.03), **place)
    if guess:
        look = {"marker": "D", "markersize": 9, "linestyle": "none", "markeredgecolor": ground.ink, "zorder": 4}
        axes.plot(guess, 1e3 * ring_seconds(guess, size, alpha, beta), color=COLOURS[4], label="your guess", **look)
    axes.set(xscale="log", yscale="log", xlabel="bytes of the array", ylabel="milliseconds")
    ticks = [1e3, 1e5, 1e7, 1e9]
    axes.set_xticks(ticks, ["1 kB", "100 kB", "10 MB", "1 GB"])
    axes.minorticks_off()
    axes.set_title(f"An all-reduce on {size} ranks, by the formula")
    axes.legend(loc="upper left")
    quiet_grid(axes)
    return figure
