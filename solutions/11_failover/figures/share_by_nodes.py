"""The share of the time that is lost on few and on many nodes, against the steps between two checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from course.figures.failures import young
from course.figures.failures.young import percent
from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds, quiet_grid

INKS = (2, 0, 1, 3, 4, 5)  # of COLOURS, from few nodes to many
DASHES = ("-", "--", "-.", ":")
AROUND = 30
DAY, HOUR = 86400, 3600


@on_both_grounds
def share_by_nodes_picture(
    step_seconds: float,
    save_seconds: float,
    node_mtbf_seconds: float,
    nodes: Sequence[int] = (1, 100, 10_000),
    best: Callable[[float, float, float, int], int] | None = None,
    *,
    ground: Ground,
) -> Picture:
    """Young's curve for each number of nodes, with its minimum marked.

    node_mtbf_seconds: mean time between failures of one node. best: a student's function, which is asked for its k,
    given the seconds of a step, of a save and between failures of a node, and the number of nodes.
    """
    apart = {count: node_mtbf_seconds / count for count in nodes}
    least = {count: young.least(step_seconds, save_seconds, mtbf) for count, mtbf in apart.items()}
    lost = {count: young.share_lost(least[count], step_seconds, save_seconds, mtbf) for count, mtbf in apart.items()}
    told = ", ".join(
        f"{percent(lost[count])} at k = {least[count]:,} on {count:,} node{'s' * (count != 1)}" for count in nodes
    )
    asked = {count: best(step_seconds, save_seconds, node_mtbf_seconds, count) for count in nodes} if best else {}
    asked = {count: k for count, k in asked.items() if young.is_count(k)}
    if asked:
        told += "; your best_every says " + ", ".join(f"{k:,}" for k in asked.values())
    alt = (
        f"Share of the time lost against k, with a step of {1e3 * step_seconds:.3g} ms, a save of "
        f"{1e3 * save_seconds:.3g} ms and a failure of each node every {in_words(node_mtbf_seconds)}. Least: {told}."
    )
    figure, axes = new_figure(8.4, 4.2, alt=alt, ground=ground)
    low, high = max(1.0, min(least.values()) / AROUND), max(least.values()) * AROUND
    ks = np.geomspace(low, high, 400)
    for number, (count, mtbf) in enumerate(apart.items()):
        look = {"color": COLOURS[INKS[number % len(INKS)]], "linestyle": DASHES[number % len(DASHES)], "linewidth": 2.2}
        shares = 100 * young.share_lost(ks, step_seconds, save_seconds, mtbf)
        name = f"{count:,} node{'s' * (count != 1)}, a failure\nevery {in_words(mtbf)}:\n"
        label = f"{name}{percent(lost[count])} at k = {least[count]:,}"
        axes.plot(ks, shares, **look, label=label)
    first = True
    for count, k in least.items():
        own = {"color": COLOURS[4], "markeredgecolor": ground.ink, "markersize": 13, "linestyle": "none", "zorder": 5}
        axes.plot([k], [100 * lost[count]], "*", **own, label="least" if first else None)
        if count in asked:
            look = {"markersize": 15, "markerfacecolor": "none", "markeredgewidth": 1.8, "linestyle": "none"}
            height = 100 * young.share_lost(asked[count], step_seconds, save_seconds, apart[count])
            name = "best_every" if first else None
            axes.plot([asked[count]], [height], "o", color=COLOURS[3], **look, label=name, zorder=6)
        first = False
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set(xlim=(low / 1.2, high), ylim=(100 * min(lost.values()) / 3, 100))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set(xlabel="k: steps between two checkpoints", ylabel="share of the time lost [%]")
    axes.set_title("More nodes fail more often: save more often, and still lose more")
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), labelcolor=ground.ink, labelspacing=0.9)
    quiet_grid(axes)
    return figure


def in_words(seconds: float) -> str:
    """A time in the unit that suits it."""
    units = (("years", 365.25 * DAY), ("days", DAY), ("hours", HOUR), ("minutes", 60))
    name, length = next(((name, length) for name, length in units if seconds >= 2 * length), ("seconds", 1))
    return f"{seconds / length:.3g} {name}"
