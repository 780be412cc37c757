"""How long a step takes by the size of its buckets: small ones pay latency, large ones leave late."""

from __future__ import annotations

from collections.abc import Mapping

from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds, quiet_grid


@on_both_grounds
def bucket_size_picture(curves: Mapping[str, Mapping[int, float]], nothing_sent: float, *, ground: Ground) -> Picture:
    """Seconds of a step against the bytes of a bucket, a curve for each network, with the best size marked.

    curves: by the network's name, seconds by bytes. nothing_sent: seconds of a step that sends nothing.
    """
    best = {name: min(curve, key=curve.__getitem__) for name, curve in curves.items()}
    times = {
        name: ", ".join(f"{1000 * seconds:.0f} ms with {size / 1000:.0f} kB" for size, seconds in curve.items())
        for name, curve in curves.items()
    }
    told = "; ".join(f"{name}: {own}, the fastest with {best[name] / 1000:.0f} kB" for name, own in times.items())
    alt = f"A step's time by the size of a bucket. {told}; {1000 * nothing_sent:.0f} ms where nothing is sent."
    figure, axes = new_figure(7.2, 3.6, alt=alt, ground=ground)
    for number, (name, curve) in enumerate(curves.items()):
        colour = ground.text(COLOURS[number])
        axes.plot(
            [size / 1000 for size in curve], [1000 * each for each in curve.values()], "o-", color=colour, label=name
        )
        size = best[name]
        axes.plot(size / 1000, 1000 * curve[size], "o", markersize=13, fillstyle="none", color=colour)
        axes.annotate(
            f"{size / 1000:.0f} kB",
            (size / 1000, 1000 * curve[size]),
            (0, 12 if number else -12),  # where another curve lies below, above
            textcoords="offset points",
            ha="center",
            va="bottom" if number else "top",
            color=colour,
        )
    axes.axhline(1000 * nothing_sent, color=ground.faint, linestyle="--", linewidth=1)
    sizes = sorted({size for curve in curves.values() for size in curve})
    axes.annotate(
        "nothing sent", (sizes[0] / 1000, 1000 * nothing_sent), (0, 3), textcoords="offset points", color=ground.ink
    )
    highest = 1000 * max(each for curve in curves.values() for each in curve.values())
    lowest = 1000 * nothing_sent
    axes.set_xscale("log", base=2)
    axes.set(xticks=[size / 1000 for size in sizes], xticklabels=[f"{size / 1000:.0f}" for size in sizes])
    axes.minorticks_off()
    axes.set(xlabel="size of a bucket [kB]", ylabel="time of a step [ms]")
    axes.set_ylim(lowest - 0.22 * (highest - lowest), highest + 0.12 * (highest - lowest))
    quiet_grid(axes)
    if len(curves) > 1:
        axes.legend()
    return figure
