"""What DistributedDataParallel sends in a step: the number of all-reduces, and when it sends which bucket."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds, quiet_grid

MEBIBYTE = 2**20
MANY = 4  # buckets, of which each is told


@on_both_grounds
def all_reduces_picture(runs: Mapping[str, Sequence[int]], *, ground: Ground) -> Picture:
    """runs: by name of a way to train, the number of all-reduces of gradients in each optimizer step."""
    most = max((max(counts, default=0) for counts in runs.values()), default=0)
    alt = "; ".join(f"{name}: {list(counts)} all-reduces in each step" for name, counts in runs.items()) + "."
    figure, axes = new_figure(7.2, 3.4, alt=alt, ground=ground)
    width = 0.8 / max(1, len(runs))
    for index, (name, counts) in enumerate(runs.items()):
        offset = (index - (len(runs) - 1) / 2) * width
        bars = axes.bar(
            [step + offset for step in range(1, len(counts) + 1)],
            counts,
            width * 0.94,
            color=COLOURS[index % len(COLOURS)],
            label=name,
        )
        if len(counts) * len(runs) <= 40:
            axes.bar_label(bars, padding=2, color=ground.ink)
    axes.set(xlabel="optimizer step", ylabel="all-reduces of gradients", ylim=(0, 1.15 * most + 0.5))
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.yaxis.get_major_locator().set_params(integer=True)
    axes.set_title("How often ranks wait for each other's gradients")
    axes.legend(loc="lower left", bbox_to_anchor=(0.0, -0.38), ncols=max(1, len(runs)))
    quiet_grid(axes, "y")
    return figure


@on_both_grounds
def overlap_picture(steps: Mapping[str, Mapping], *, ground: Ground) -> Picture:
    """Two lanes for each step: when it computes its last backward pass, and when it averages which bucket.

    steps: by name, `backward`, when the pass begins, and `buckets`, as `course.watch.ddp_buckets` has them; seconds.
    The pass ends where the last bucket is full. Buckets that are under way at the same time lie side by side.
    """
    alt = "; ".join(f"{name}: {in_words(step['buckets'])}" for name, step in steps.items())
    figure, axes = new_figure(
        7.4, 1.1 + 0.85 * max(1, len(steps)), alt=f"Backward pass and all-reduces. {alt}.", ground=ground
    )
    ticks, names, most = [], [], 0.0
    for row, (name, step) in enumerate(steps.items()):
        zero, buckets = step["backward"], step["buckets"]
        ready = max((each["start"] for each in buckets), default=zero)
        lanes = 2.6 * row, 2.6 * row + 1
        axes.barh(lanes[0], 1000 * (ready - zero), 0.82, color=COLOURS[5])
        together = any(later["start"] < sooner["end"] for sooner, later in pairwise(buckets))
        height, shift = (0.41, 0.205) if together else (0.82, 0.0)  # side by side
        for number, each in enumerate(buckets):
            first, end = 1000 * (each["start"] - zero), 1000 * (each["end"] - zero)
            colour, middle = COLOURS[(1, 4)[number % 2]], lanes[1] + shift * (-1, 1)[number % 2]
            axes.barh(middle, end - first, height, left=first, color=colour, edgecolor=ground.paper, linewidth=1)
            most = max(most, end)
        sizes = " + ".join(f"{each['bytes'] / MEBIBYTE:.2f}" for each in buckets)
        if len(buckets) > MANY:
            sizes = f"{len(buckets)} x {sum(each['bytes'] for each in buckets) / len(buckets) / MEBIBYTE:.2f}"
        ended = max((1000 * (each["end"] - zero) for each in buckets), default=0.0)
        axes.text(ended, lanes[1], f"  {sizes} MiB", va="center", color=ground.ink)
        ticks += lanes
        names += [f"{name}: backward", "all-reduce"]
    axes.set_yticks(ticks, names)
    axes.invert_yaxis()
    axes.tick_params(axis="y", length=0)
    axes.set(xlabel="milliseconds from the beginning of the last backward pass", xlim=(0, 1.3 * most or 1))
    axes.set_title("Sending while still computing")
    return figure


def in_words(buckets: Sequence[Mapping]) -> str:
    """How large some buckets are; of many, their mean."""
    sizes = [each["bytes"] for each in buckets]
    if len(sizes) > MANY:
        return f"{len(sizes)} buckets of {sum(sizes) / len(sizes):.0f} bytes on average"
    return f"buckets of {sizes} bytes"
