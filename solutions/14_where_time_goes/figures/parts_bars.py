"""Where the time of each rank goes, as stacked bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from course.figures.style import Ground, Picture, new_figure, on_both_grounds, quiet_grid

from .colours import COMMUNICATING, COMPUTING, HIDDEN, NAMES


@on_both_grounds
def parts_bars(parts: Sequence[Mapping[str, float]], title: str, *, ground: Ground) -> Picture:
    """A bar for each rank.

    parts: by rank, its seconds of "computing", of which "hidden" are hatched, "exposed" and "idle". Raises KeyError if
    one is missing.
    """
    told = "; ".join(
        f"rank {rank} computes for {1e3 * own['computing']:.0f} ms, which hides {1e3 * own['hidden']:.0f} ms of "
        f"communication, {1e3 * own['exposed']:.0f} ms are exposed, and {1e3 * own['idle']:.0f} ms idle"
        for rank, own in enumerate(parts)
    )
    figure, axes = new_figure(7.6, 1.7 + 0.42 * len(parts), alt=f"{title}: {told}.", ground=ground)
    looks = ({"color": COMPUTING}, HIDDEN, {"color": COMMUNICATING}, {"color": ground.pale})
    for rank, own in enumerate(parts):
        left = 0.0
        widths = own["computing"] - own["hidden"], own["hidden"], own["exposed"], own["idle"]
        for width, look in zip(widths, looks, strict=True):
            axes.barh(rank, 1e3 * width, 0.62, left=left, **look)
            left += 1e3 * width
    axes.set_yticks(range(len(parts)), [f"rank {rank}" for rank in range(len(parts))])
    axes.invert_yaxis()
    axes.tick_params(axis="y", length=0)
    axes.set(xlabel="time [ms]", title=title)
    quiet_grid(axes, "x")
    handles = [axes.barh(0, 0, **look) for look in looks]
    figure.legend(handles, NAMES, loc="outside lower center", ncols=2)
    return figure
