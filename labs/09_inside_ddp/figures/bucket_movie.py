"""Gradients appear from the last layer on, fill buckets, and leave while others are still being computed."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.patches import Rectangle

from course.figures.contrast import ink_on
from course.figures.film import Movie, filmed
from course.figures.overlap.step_spans import step_spans
from course.figures.style import COLOURS, Ground, new_figure, on_both_grounds

FRAMES = 64
SHADES = (COLOURS[0], COLOURS[4], COLOURS[2])
BUCKETS, PASSES, LINE = 0.0, 1.5, 2.5  # where the rows are


@on_both_grounds
def bucket_movie(
    run: dict, buckets: Sequence[Sequence[int]], latency: float, bandwidth: float, *, ground: Ground
) -> Movie:
    """Above: the buckets and the gradients in them. Below, on a clock: the layers' backward passes, and the network.

    run: with `ranks` and `events`, see `step_spans`. buckets: layers by bucket. latency (s), bandwidth (bytes/s): of
    the simulated network.
    """
    step = step_spans(run["ranks"], run["events"], latency, bandwidth)
    own = step.ranks[0]
    spans = dict(own.layers)
    begin, end = own.forward[1], max([step.total, *(stop for _, stop in step.transfers)])
    in_time = sum(stop <= own.computed for _, stop in step.transfers)
    over = f"{1000 * (own.computed - begin):.0f} ms"
    arrived = (
        f"{in_time} of them have arrived when the backward pass is over, after {over}; the last one after "
        f"{1000 * (end - begin):.0f} ms."
    )
    alt = f"A backward pass of {len(spans)} layers, from the last to the first, and {len(buckets)} buckets. " + (
        arrived if step.transfers else f"None of them is sent; the backward pass takes {over}."
    )
    figure, axes = new_figure(8.6, 3.4, alt=alt, ground=ground)
    length = 1000 * (end - begin)
    axes.set(xlim=(-0.005 * length, 1.005 * length), ylim=(LINE + 0.6, BUCKETS - 0.5))
    axes.set_xlabel("time since the backward pass began [ms]")
    axes.set_yticks([BUCKETS, PASSES, LINE], ["gradients\nin buckets", "backward\npass", "network"])
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    unit = length / max(1, sum(map(len, buckets)))
    cells, fills, words, passes, place = {}, {}, [], {}, 0.0
    for number, bucket in enumerate(buckets):
        shade = SHADES[number % len(SHADES)]
        frame = (place + 0.05 * unit, BUCKETS - 0.36), (len(bucket) - 0.1) * unit, 0.72
        axes.add_patch(Rectangle(*frame, facecolor="none", edgecolor=shade, linewidth=1.6))
        words.append(axes.text(place + len(bucket) * unit / 2, BUCKETS + 0.62, "", ha="center", fontsize="small"))
        for layer in bucket:
            left, width = place + 0.14 * unit, 0.72 * unit
            axes.add_patch(Rectangle((left, BUCKETS - 0.27), width, 0.54, facecolor=ground.pale))
            fills[layer] = axes.add_patch(Rectangle((left, BUCKETS - 0.27), 0, 0.54, facecolor=shade))
            cells[layer] = axes.text(left + width / 2, BUCKETS, str(layer), ha="center", va="center", fontsize="small")
            if layer in spans:
                start = 1000 * (spans[layer][0] - begin)
                passes[layer] = axes.barh(PASSES, 0, 0.6, left=start, color=shade, linewidth=0)[0]
            place += unit
    lines = [
        axes.barh(LINE, 0, 0.6, left=1000 * (start - begin), color=SHADES[number % len(SHADES)], linewidth=0)[0]
        for number, (start, _) in enumerate(step.transfers)
    ]
    clock = axes.plot([0, 0], [PASSES - 0.4, LINE + 0.4], color=ground.ink, linewidth=1)[0]
    moving = [*fills.values(), *cells.values(), *words, *passes.values(), *lines, clock]
    full = 0.72 * unit

    def move(frame: int) -> None:
        now = begin + (end - begin) * frame / (FRAMES - 1)
        for number, (bucket, word) in enumerate(zip(buckets, words, strict=True)):
            sent, there = step.transfers[number] if number < len(step.transfers) else (end + 1, end + 1)
            ready = sum(layer in spans and spans[layer][1] <= now for layer in bucket)
            waiting = f"{ready} of {len(bucket)}" if ready else ""
            word.set_text("arrived" if now >= there else "on its way" if now >= sent else waiting)
            for layer in bucket:
                part = done(spans[layer], now) if layer in spans else 0.0
                gone = sent <= now < there
                fills[layer].set_width(0 if gone else full * part)
                cells[layer].set_color(ink_on(fills[layer].get_facecolor()) if part >= 0.5 and not gone else ground.ink)
        for layer, bar in passes.items():
            first, last = spans[layer]
            bar.set_width(1000 * (last - first) * done(spans[layer], now))
        for bar, span in zip(lines, step.transfers, strict=True):
            bar.set_width(1000 * (span[1] - span[0]) * done(span, now))
        clock.set_xdata([1000 * (now - begin)] * 2)

    caption = (
        "One backward pass on rank 0, as measured. A gradient takes its bucket's colour while it is computed; its "
        "place is empty while the bucket is on its way; then the sum has arrived. The network carries one bucket after "
        "the other, each from when the last rank has sent it. What it carries after the backward pass is not hidden."
    )
    return Movie(filmed(figure, moving, move, FRAMES), [90] * (FRAMES - 1) + [3000], alt, caption)


def done(span: tuple[float, float], now: float) -> float:
    """How much of a span is over, from 0 to 1."""
    return min(1.0, max(0.0, (now - span[0]) / max(span[1] - span[0], 1e-9)))
