"""One step on 1, 2 and 4 ranks, on one clock: what is computed shrinks, and what is communicated does not."""

from __future__ import annotations

from collections.abc import Sequence

from course.figures.style import COLOURS, Ground, new_figure, on_both_grounds
from course.figures.training.sgd_animation import Movie, filmed

FRAMES = 40


@on_both_grounds
def step_movie(
    seconds: Sequence[float], alone: float, overhead: float, ranks: Sequence[int] = (1, 2, 4), *, ground: Ground
) -> Movie:
    """Bars that grow with the clock, a row for each rank, once for each number of ranks.

    seconds: of a step on 1, 2, 3, ... ranks, as measured. alone: of computing on one rank, of which `overhead` is not
    shared.
    """
    computing = {n: overhead + (alone - overhead) / n for n in ranks}
    total = {n: max(seconds[n - 1], computing[n]) for n in ranks}
    told = "; ".join(
        f"{n} rank{'s' * (n > 1)}: {1000 * computing[n]:.0f} ms computing, {1000 * (total[n] - computing[n]):.0f} not"
        for n in ranks
    )
    alt = f"One step on a clock. {told}."
    rows = [(n, rank) for n in ranks for rank in range(n)]
    figure, axes = new_figure(7.6, 0.6 + 0.36 * (len(rows) + 2 * len(ranks)), alt=alt, ground=ground)
    longest = 1000 * max(total.values())
    heights, height = {}, 0.0
    for n in ranks:
        axes.text(0, height, f"{n} rank{'s' * (n > 1)}", fontweight="bold", va="bottom")
        for rank in range(n):
            height += 1
            heights[n, rank] = height - 0.45
        height += 1
    axes.set(ylim=(height - 0.2, -0.9), xlim=(0, 1.12 * longest), xlabel="milliseconds", yticks=[])
    axes.spines["left"].set_visible(False)
    handles = [axes.plot([], [], linewidth=8, color=COLOURS[number])[0] for number in (4, 0)]
    figure.legend(handles, ["computing", "waiting for the all-reduce"], loc="outside lower center", ncols=2)
    bars = {}
    for row, place in heights.items():
        compute = axes.barh(place, 0, 0.72, color=COLOURS[4])[0]
        reduce = axes.barh(place, 0, 0.72, color=COLOURS[0])[0]
        bars[row] = compute, reduce
    ends = {n: axes.text(0, heights[n, 0], "", va="center", color=ground.ink) for n in ranks}
    moving = [*(bar for pair in bars.values() for bar in pair), *ends.values()]

    def move(frame: int) -> None:
        now = longest / 1000 * frame / (FRAMES - 1)
        for (n, _), (compute, reduce) in bars.items():
            compute.set_width(1000 * min(now, computing[n]))
            reduce.set_x(1000 * computing[n])
            reduce.set_width(1000 * max(0.0, min(now, total[n]) - computing[n]))
            if now >= total[n] - 1e-9:
                ends[n].set_text(f" {1000 * total[n]:.0f} ms")
                ends[n].set_x(1000 * total[n])
            else:
                ends[n].set_text("")

    caption = "One step of 96 images on the simulated devices, with the times that you measured."
    return Movie(filmed(figure, moving, move, FRAMES), [70] * (FRAMES - 1) + [2500], alt, caption)
