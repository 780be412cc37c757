"""The spans of a short step, and what the rank does in each moment."""

from __future__ import annotations

from course.figures.style import Ground, Picture, new_figure, on_both_grounds, quiet_grid

from .colours import COMMUNICATING, COMPUTING, HIDDEN, NAMES

STEP, OPERATIONS, WITHIN, FIRST, SECOND, PARTS = 0, 1, 1, 2.45, 2.95, 4.1  # rows, from above
THICK, THIN = 0.6, 0.26


@on_both_grounds
def parts_picture(*, ground: Ground) -> Picture:
    """A step of 12 seconds: operations, two all-reduces beside them, and below what the time goes into."""
    alt = (
        "A step from 0 to 12 seconds. Operations take 0 to 4, with a small one from 1 to 3 within it, and 5 to 8. "
        "All-reduces take 3 to 6 and 7 to 11. So the rank computes from 0 to 4 and from 5 to 8; communication is "
        "hidden from 3 to 4, 5 to 6 and 7 to 8, and exposed from 4 to 5 and 8 to 11; the rank is idle from 11 to 12."
    )
    figure, axes = new_figure(7.6, 3.1, alt=alt, ground=ground)
    bars = [(STEP, THICK, 0, 12, {"color": ground.pale})]
    bars += [(OPERATIONS, THICK, start, end, {"color": COMPUTING}) for start, end in ((0, 4), (5, 8))]
    bars += [(WITHIN, THIN, 1, 3, {"color": ground.ink, "alpha": 0.35})]
    bars += [
        (FIRST, THIN + 0.14, 3, 6, {"color": COMMUNICATING}),
        (SECOND, THIN + 0.14, 7, 11, {"color": COMMUNICATING}),
    ]
    bars += [(PARTS, THICK, start, end, {"color": COMPUTING}) for start, end in ((0, 4), (5, 8))]
    bars += [(PARTS, THICK, start, end, HIDDEN) for start, end in ((3, 4), (5, 6), (7, 8))]
    bars += [(PARTS, THICK, start, end, {"color": COMMUNICATING}) for start, end in ((4, 5), (8, 11))]
    bars += [(PARTS, THICK, 11, 12, {"facecolor": ground.pale})]
    for row, height, start, end, look in bars:
        axes.barh(row, end - start, height, left=start, **look)
    rows = {STEP: "step", OPERATIONS: "compute", (FIRST + SECOND) / 2: "communication", PARTS: "what it is"}
    axes.set_yticks([*rows], [*rows.values()])
    axes.axhline((SECOND + PARTS) / 2, color=ground.faint, linewidth=0.8)
    axes.set(ylim=(PARTS + 0.45, -0.45), xlim=(-0.05, 12.05), xlabel="time [s]", xticks=range(13))
    axes.tick_params(axis="y", length=0)
    quiet_grid(axes, "x")
    handles = [axes.barh(0, 0, color=COMPUTING), axes.barh(0, 0, **HIDDEN)]
    handles += [axes.barh(0, 0, color=COMMUNICATING), axes.barh(0, 0, color=ground.pale)]
    figure.legend(handles, NAMES, loc="outside lower center", ncols=2)
    return figure
