"""Times of steps on more and more ranks, beside what they would be if nothing but the work took time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds, quiet_grid


@on_both_grounds
def measured_times_picture(
    ranks: Sequence[int],
    strong: Mapping[str, Sequence[float]],
    weak: Mapping[str, Sequence[float]],
    cores: int,
    *,
    ground: Ground,
) -> Picture:
    """Left: strong scaling, the same work on more ranks. Right: weak scaling, as much for each rank.

    strong, weak: seconds of a step for each of `ranks`, by what was measured. cores: of this machine.
    """
    told = []
    for kind, times in (("strong", strong), ("weak", weak)):
        for name, each in times.items():
            words = ", ".join(f"{1000 * value:.0f} ms on {n}" for n, value in zip(ranks, each, strict=True))
            told.append(f"{kind} scaling, {name}: {words}")
    alt = f"Time of a step. {'; '.join(told)}. This machine has {cores} cores."
    figure, drawn = new_figure(8.4, 3.5, columns=2, alt=alt, ground=ground)
    kinds = (("Strong: the same work on more ranks", strong), ("Weak: as much work for each rank", weak))
    for axes, (title, times) in zip(drawn, kinds, strict=True):
        for number, (name, each) in enumerate(times.items()):
            colour = ground.text(COLOURS[number])
            axes.plot(ranks, [1000 * value for value in each], "os"[number % 2] + "-", color=colour, label=name)
            ideal = [1000 * each[0] / (n if times is strong else 1) for n in ranks]
            label = "ideal" if number == 0 else None
            axes.plot(ranks, ideal, color=ground.ink, linewidth=1, linestyle=(0, (4, 3)), label=label)
        axes.set(xlabel="ranks N", ylabel="milliseconds", xticks=list(ranks), title=title)
        axes.set_ylim(0, 1250 * max(max(each) for each in times.values()))
        quiet_grid(axes, "y")
    handles, labels = drawn[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), labelcolor=ground.ink)
    return figure
