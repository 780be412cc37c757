"""What training keeps in memory, part by part, beside the memory that there is."""

from __future__ import annotations

from collections.abc import Mapping

from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds, quiet_grid


@on_both_grounds
def memory_parts(models: Mapping[str, Mapping[str, float]], limits: Mapping[str, float], *, ground: Ground) -> Picture:
    """A bar for each model, in parts; a dotted line for each device. All in GB."""
    told = "; ".join(f"{name}: {sum(parts.values()):.3g} GB" for name, parts in models.items())
    figure, axes = new_figure(7.8, 1.5 + 0.5 * len(models), alt=f"Memory that training takes. {told}.", ground=ground)
    parts = dict.fromkeys(part for own in models.values() for part in own)
    for row, own in enumerate(models.values()):
        begin = 0.0
        for colour, part in zip(COLOURS, parts, strict=False):
            axes.barh(row, own[part], left=begin, height=0.55, color=colour, label=part if row == 0 else None)
            begin += own[part]
        axes.annotate(f"{begin:.3g} GB", (begin, row), (6, 0), textcoords="offset points", va="center")
    for name, limit in limits.items():
        axes.axvline(limit, color=ground.ink, linestyle=":")
        place = {"xytext": (-4, -2), "textcoords": "offset points", "ha": "right", "va": "bottom"}
        axes.annotate(name, (limit, len(models) - 0.45), **place)
    axes.set_yticks(range(len(models)), [*models])
    axes.set_ylim(len(models) - 0.3, -0.6)
    axes.set_xlim(0, 1.25 * max(*(sum(own.values()) for own in models.values()), *limits.values()))
    axes.set_xlabel("GB")
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
    quiet_grid(axes, "x")
    return figure
