"""What DistributedDataParallel sends in a step: the number of all-reduces, and the bytes of each bucket."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes

from course.figures.style import COLOURS, GROUND, INK, Picture, look, new_figure, quiet_grid

MEBIBYTE = 2**20


def all_reduces_picture(runs: Mapping[str, Sequence[int]]) -> Picture:
    """runs: by name of a way to train, the number of all-reduces of gradients in each optimizer step."""
    most = max((max(counts, default=0) for counts in runs.values()), default=0)
    alt = "; ".join(f"{name}: {list(counts)} all-reduces in each step" for name, counts in runs.items())
    figure, axes = new_figure(7.2, 3.4, alt=alt)
    width = 0.8 / max(1, len(runs))
    with look():
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
                axes.bar_label(bars, padding=2, color=INK)
        axes.set(xlabel="optimizer step", ylabel="all-reduces of gradients", ylim=(0, 1.15 * most + 0.5))
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.yaxis.get_major_locator().set_params(integer=True)
        axes.set_title("How often ranks wait for each other's gradients")
        axes.legend(loc="lower left", bbox_to_anchor=(0.0, -0.38), ncols=max(1, len(runs)))
        quiet_grid(axes, "y")
    return figure


def bytes_picture(steps: Sequence[Sequence[int]]) -> Picture:
    """steps: for each step, the bytes of its buckets in the order of sending; see `bytes_by_step`."""
    alt = f"Bytes of each bucket, by step: {[list(sizes) for sizes in steps]}"
    figure, axes = new_figure(7.2, 0.9 + 0.42 * max(3, len(steps)), alt=alt)
    with look():
        for row, sizes in enumerate(steps):
            first = 0.0
            for bucket, size in enumerate(sizes):
                draw_bucket(axes, row, first, size / MEBIBYTE, bucket)
                first += size / MEBIBYTE
        longest = max((sum(sizes) for sizes in steps), default=0) / MEBIBYTE
        for row, sizes in enumerate(steps):
            total = sum(sizes) / MEBIBYTE
            text = f"{len(sizes)} bucket{'s' if len(sizes) != 1 else ''}, {total:.2f} MiB"
            axes.text(total + 0.02 * longest, row, text, va="center")
        axes.set_yticks(range(len(steps)), [f"step {row + 1}" for row in range(len(steps))])
        axes.invert_yaxis()
        axes.tick_params(axis="y", length=0)
        axes.set(xlabel="MiB of gradients, in the order in which they are sent", xlim=(0, 1.35 * longest or 1))
        axes.set_title("The buckets of a step")
    return figure


def draw_bucket(axes: Axes, row: int, first: float, size: float, bucket: int) -> None:
    """Draw one bucket of a step. first, size: its start and its size, in MiB."""
    colour = COLOURS[bucket % len(COLOURS)]
    axes.barh(row, size, 0.62, left=first, color=colour, edgecolor=GROUND, linewidth=1.5)
