"""How many times faster the same work is on more GPUs, with two kinds of nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds, quiet_grid


@on_both_grounds
def node_kinds_picture(
    speed_ups: Mapping[str, Sequence[float]], counts: Sequence[int], sizes: Mapping[str, int], *, ground: Ground
) -> Picture:
    """Lines of speed-up against GPUs, on logarithmic axes, with a mark where each leaves its first node.

    speed_ups: by the node's name, for each number of GPUs in `counts`. sizes: how many GPUs such a node has.
    """
    told = ". ".join(
        f"{name}: {', '.join(f'{value:.1f} on {n}' for n, value in zip(counts, values, strict=True))}"
        for name, values in speed_ups.items()
    )
    figure, axes = new_figure(6.8, 3.9, alt=f"Speed-up by number of GPUs. {told}.", ground=ground)
    axes.plot(counts, counts, color=ground.ink, linewidth=1, linestyle=(0, (4, 3)), label="ideal")
    for number, (name, values) in enumerate(speed_ups.items()):
        colour = ground.text(COLOURS[number])
        axes.plot(counts, values, "-o", color=colour, linewidth=2, markersize=5, label=name)
        if (size := sizes[name]) in counts:
            value = values[list(counts).index(size)]
            axes.plot(size, value, "s", color=colour, markersize=11, fillstyle="none")
            axes.annotate("the first node is full", (size, value), (10, -12), textcoords="offset points", color=colour)
    axes.set(xscale="log", yscale="log", xlabel="GPUs", ylabel="times faster than one GPU")
    for axis in (axes.set_xticks, axes.set_yticks):
        axis(counts, [str(count) for count in counts])
    axes.minorticks_off()
    axes.set_title("Speed-up by arithmetic: the all-reduce follows the computing")
    axes.legend(loc="upper left", labelcolor="linecolor")
    quiet_grid(axes)
    return figure
