"""What a rank keeps in each stage of ZeRO, by what it is for."""

from __future__ import annotations

from collections.abc import Mapping

from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds, quiet_grid

PARTS = {"weights": COLOURS[0], "gradients": COLOURS[2], "optimizer": COLOURS[4], "master weights": COLOURS[5]}
GB = 1e9


@on_both_grounds
def stage_bars(memory: Mapping[int, Mapping[str, float]], title: str, *, ground: Ground) -> Picture:
    """A bar for each stage, stacked of weights, gradients, optimizer state and master weights.

    memory: bytes by stage and part. Raises ValueError without stages, or for other parts.
    """
    others = {part for own in memory.values() for part in own} - {*PARTS}
    if not memory or others:
        raise ValueError(f"memory has the parts {', '.join(PARTS)}, not {', '.join(sorted(others)) or 'none'}")
    totals = {stage: sum(own.values()) / GB for stage, own in memory.items()}
    told = ", ".join(f"{total:.1f} GB in stage {stage}" for stage, total in totals.items())
    figure, axes = new_figure(7.2, 3.6, alt=f"{title}: {told}.", ground=ground)
    most = max(totals.values())
    for place, (stage, own) in enumerate(memory.items()):
        left = 0.0
        for part, colour in PARTS.items():
            axes.barh(place, own.get(part, 0) / GB, 0.62, left, color=colour)
            left += own.get(part, 0) / GB
        axes.text(left + 0.012 * most, place, f"{totals[stage]:.1f} GB", va="center")
    axes.set_yticks(range(len(memory)), [f"stage {stage}" for stage in memory])
    axes.invert_yaxis()
    axes.tick_params(axis="y", length=0)
    axes.set(xlabel="memory of a rank [GB]", xlim=(0, 1.16 * most))
    axes.set_title(title)
    handles = [axes.barh(0, 0, color=colour) for colour in PARTS.values()]
    figure.legend(handles, PARTS, loc="outside lower center", ncols=len(PARTS))
    quiet_grid(axes, "x")
    return figure
