"""When each rank does something: one bar a rank, in panels side by side that share a clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds, quiet_grid

Span = tuple[float, float]  # begin and end in seconds


@on_both_grounds
def turns_picture(runs: Mapping[str, Sequence[Span]], title: str, *, ground: Ground) -> Picture:
    """Runs side by side, each with the time in which every rank acts.

    runs: by the run's name, the span of each rank; each run's clock begins at its first span.
    """
    shifted = {}
    for name, spans in runs.items():
        zero = min(begin for begin, _ in spans)
        shifted[name] = [(begin - zero, end - zero) for begin, end in spans]
    last = max(end for spans in shifted.values() for _, end in spans)
    told = [
        f"{name}: " + ", ".join(f"rank {rank} from {b:.2f} to {e:.2f} s" for rank, (b, e) in enumerate(spans))
        for name, spans in shifted.items()
    ]
    ranks = max(map(len, shifted.values()))
    alt = f"{title}. {'; '.join(told)}."
    figure, axes = new_figure(7.6, 1.3 + 0.34 * ranks, columns=len(shifted), alt=alt, ground=ground)
    for number, (panel, (name, spans)) in enumerate(
        zip([axes] if len(shifted) == 1 else axes, shifted.items(), strict=True)
    ):
        for rank, (begin, end) in enumerate(spans):
            colour = COLOURS[rank % len(COLOURS)]
            panel.barh(rank, max(end - begin, last / 200), left=begin, height=0.62, color=colour)
        panel.set(xlim=(0, 1.04 * last), ylim=(ranks - 0.5, -0.5), xlabel="time [s]")
        panel.set_yticks(range(ranks), [f"rank {rank}" for rank in range(ranks)] if not number else [])
        panel.set_title(name, fontweight="normal", fontsize=10)
        quiet_grid(panel, "x")
    figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")
    return figure
