"""Three collectives of two ranks, by the ranks' own clocks and by one clock."""

from __future__ import annotations

from course.figures.style import Ground, Picture, new_figure, on_both_grounds, quiet_grid

from .colours import COMMUNICATING

AHEAD = 100  # of rank 1's clock
TRACES = ((0, 8), (10, 14), (20, 25)), ((5, 8), (11, 14), (19, 29))  # by the clock of rank 0
BEGINS = 5, 11, 20  # when the last rank calls each of them
NOTED_LATE = 25, 29
LOOK = {"color": COMMUNICATING}


@on_both_grounds
def clocks_picture(*, ground: Ground) -> Picture:
    """Left, what the ranks note; right, the same by the clock of rank 0, with the waits hatched."""
    alt = (
        "Three collectives on two ranks. By its own clock, rank 0 is in them from 0 to 8, 10 to 14 and 20 to 25, and "
        "rank 1 from 105 to 108, 111 to 114 and 119 to 129. By one clock, rank 1 calls the first two last, at 5 and at "
        "11, and rank 0 the third, at 20. All end together, but rank 1 notes the third end four seconds late."
    )
    figure, (own, one) = new_figure(8.2, 2.4, columns=2, alt=alt, ground=ground)
    waits = {"facecolor": ground.behind, "edgecolor": COMMUNICATING, "hatch": "////", "linewidth": 0.8}
    for rank, spans in enumerate(TRACES):
        for number, (start, end) in enumerate(spans):
            own.barh(rank, end - start, 0.6, left=start, **LOOK)
            ahead = rank * AHEAD
            own.text(start, rank - 0.36, f"{start + ahead}", fontsize=7.5, ha="center", va="bottom", color=ground.ink)
            own.text(end, rank + 0.36, f"{end + ahead}", fontsize=7.5, ha="center", va="top", color=ground.ink)
            begin = BEGINS[number]
            over = min(end, NOTED_LATE[0])
            if begin > start:
                one.barh(rank, begin - start, 0.6, left=start, **waits)
            one.barh(rank, over - begin, 0.6, left=begin, **LOOK)
            if over < end:
                one.barh(rank, end - over, 0.6, left=over, color=ground.pale)
    for number, begin in enumerate(BEGINS):
        one.axvline(
            begin, color=ground.ink, linewidth=0.8, linestyle=(0, (4, 3)), label="" if number else "called last"
        )
    own.set(title="by each rank's own clock", xticks=[])
    one.set(title="by the clock of rank 0", xlabel="time [s]")
    for axes in (own, one):
        axes.set_yticks(range(2), ["rank 0", "rank 1"])
        axes.set(ylim=(1.65, -0.65), xlim=(-0.5, 30))
        axes.tick_params(axis="y", length=0)
    quiet_grid(one, "x")
    handles = [one.barh(0, 0, **LOOK), one.barh(0, 0, **waits), one.barh(0, 0, color=ground.pale)]
    figure.legend(
        handles,
        ["in the collective", "waits for the last rank", "over, and not noted"],
        loc="outside lower center",
        ncols=3,
    )
    return figure
