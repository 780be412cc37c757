"""How much each sample counts in an average of means over parts of unequal sizes."""

from __future__ import annotations

from collections.abc import Sequence

from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds, quiet_grid


@on_both_grounds
def weights_picture(sizes: Sequence[int], *, ground: Ground) -> Picture:
    """One bar per sample: its weight in the mean of the means of parts of `sizes` samples, in fair shares."""
    total = sum(sizes)
    figure, axes = new_figure(
        7.6, 3.2, alt="Samples of small parts count more than their share in a mean of means.", ground=ground
    )
    first, middles = 0, []
    for size, colour in zip(sizes, COLOURS * len(sizes), strict=False):
        share = total / (len(sizes) * size)
        middles.append(first + (size - 1) / 2)
        axes.bar(range(first, first + size), share, width=1, color=colour, edgecolor=ground.paper, linewidth=1.5)
        axes.text(
            middles[-1], max(share, 1) + 0.08, f"{share:.2g} x", ha="center", va="bottom", color=ground.text(colour)
        )
        first += size
    axes.axhline(1, color=ground.ink, linewidth=1.1, linestyle=(0, (4, 3)))
    axes.set_xticks(middles, [f"{size} samples" if size > 1 else "1 sample" for size in sizes])
    axes.set(xlabel="micro-batch", ylabel="weight, in fair shares", xlim=(-0.6, total - 0.4))
    axes.set_ylim(top=total / (len(sizes) * min(sizes)) * 1.2)
    axes.set_title("What a sample counts in the mean of the micro-batches' means")
    quiet_grid(axes, "y")
    return figure
