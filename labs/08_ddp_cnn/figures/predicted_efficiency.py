"""What flops and bytes predict for many GPUs, beside what was published."""

from __future__ import annotations

from collections.abc import Mapping

from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds, quiet_grid

RANKS = [2**power for power in range(10)]
# Horovod's efficiency on 512 GPUs, https://horovod.readthedocs.io/en/stable/benchmarks_include.html
PUBLISHED = {"Inception V3": 0.90, "ResNet-101": 0.90, "VGG-16": 0.68}


def efficiency(flops: float, count: float, ranks: int, flops_per_second: float, bytes_per_second: float) -> float:
    """Weak scaling, with a ring all-reduce of `count` bytes after the arithmetic, none of it hidden."""
    computing = flops / flops_per_second
    return computing / (computing + 2 * (ranks - 1) / ranks * count / bytes_per_second)


@on_both_grounds
def predicted_efficiency_picture(
    costs: Mapping[str, tuple[float, float]],
    flops_per_second: float,
    bytes_per_second: float,
    images: int,
    *,
    ground: Ground,
) -> Picture:
    """Efficiency of weak scaling on 1 to 512 ranks, and published values on 512.

    costs: by the network's name, flops of an image and bytes of its gradients. images: on each rank.
    """
    curves = {
        name: [efficiency(images * flops, count, n, flops_per_second, bytes_per_second) for n in RANKS]
        for name, (flops, count) in costs.items()
    }
    told = ", ".join(f"{name} {values[-1]:.0%} (published: {PUBLISHED[name]:.0%})" for name, values in curves.items())
    figure, axes = new_figure(7.2, 3.9, alt=f"Predicted efficiency on 512 ranks: {told}.", ground=ground)
    for number, (name, values) in enumerate(curves.items()):
        colour = ground.text(COLOURS[number])
        axes.plot(RANKS, values, "-", color=colour, linewidth=2, label=f"{name}, predicted")
        shift = 1.1 ** (number - 1) if name != "VGG-16" else 1.0
        axes.plot([RANKS[-1] * shift], [PUBLISHED[name]], "*", color=colour, markersize=13, label=f"{name}, published")
    axes.set_xscale("log", base=2)
    axes.set(xlabel="GPUs", ylabel="efficiency", ylim=(0, 1.04), xticks=RANKS, xticklabels=[str(n) for n in RANKS])
    axes.legend(loc="lower left", ncols=2, labelcolor=ground.ink)
    axes.set_title("Images per second on N GPUs, over N times those of one")
    quiet_grid(axes)
    return figure
