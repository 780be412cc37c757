"""The share of the time that is lost, against the number of steps between two checkpoints."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

import numpy as np

from course.figures.failures import young
from course.figures.failures.young import percent, seconds_in_words
from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds, quiet_grid

# By letter: the axis, and the curve's two parts.
LABELS = MappingProxyType(
    {
        "k": ("k: steps between two checkpoints", "save / (k step)", "k step / (2 M)"),
        "T": ("T: seconds between two checkpoints", "s / T", "T / (2 M)"),
    }
)
AROUND = 30  # the curve is drawn from the best k over this to the best k times this


@on_both_grounds
def share_lost_picture(
    step_seconds: float,
    save_seconds: float,
    mtbf_seconds: float,
    best: int | None = None,
    measured: Sequence[tuple[int, float]] = (),
    *,
    letter: str = "k",
    ground: Ground,
) -> Picture:
    """Young's curve from a measured step and a measured save, with its two parts, and its minimum marked.

    mtbf_seconds: mean time between failures of the whole job. best: the k that a student's function returned.
    measured: k and the share lost, of runs with kills. letter: "k", steps between two checkpoints; or "T", with steps
    of a second, for the seconds between them.
    """
    x, saves, redoes = LABELS[letter]
    given = step_seconds, save_seconds, mtbf_seconds
    k = young.least(*given)
    lost = young.share_lost(k, *given)
    told = "".join(f" A run with k = {of} lost {percent(share)}." for of, share in measured)
    best = best if young.is_count(best) else None
    if best is not None:
        told = f" Your k = {best} loses {percent(young.share_lost(best, *given))}.{told}"
    alt = (
        f"Share of the time lost against {x.replace(':', ', the')}: a step takes "
        f"{seconds_in_words(step_seconds)}, a save {seconds_in_words(save_seconds)}, a failure comes every "
        f"{seconds_in_words(mtbf_seconds)}. "
        f"Least is lost at {letter} = {k}, {percent(lost)}.{told}"
    )
    figure, axes = new_figure(8.4, 3.9, alt=alt, ground=ground)
    marked = [k, *(of for of, _ in measured), *([best] if best else [])]
    low, high = max(1.0, min(k / AROUND, *marked)), max(k * AROUND, 10, *marked)
    ks = np.geomspace(low, high, 300)
    saving = young.share_saving(ks, step_seconds, save_seconds)
    redoing = young.share_redoing(ks, step_seconds, mtbf_seconds)
    axes.plot(ks, 100 * (saving + redoing), color=ground.ink, linewidth=2.4, label="both: Young's curve")
    axes.plot(ks, 100 * saving, "--", color=COLOURS[2], linewidth=1.6, label=f"saving: {saves}")
    axes.plot(ks, 100 * redoing, "-.", color=COLOURS[1], linewidth=1.6, label=f"redoing: {redoes}")
    axes.axvline(k, color=ground.faint, linewidth=1, linestyle=":")
    label = f"least: {letter} = {k}, {percent(lost)}"
    axes.plot(
        [k], [100 * lost], "*", color=COLOURS[4], markeredgecolor=ground.ink, markersize=15, label=label, zorder=5
    )
    if best is not None:
        look = {"markersize": 15, "markerfacecolor": "none", "markeredgewidth": 1.8, "linestyle": "none"}
        share = young.share_lost(best, *given)
        label = f"best_every: k = {best}, {percent(share)}"
        axes.plot([best], [100 * share], "o", color=COLOURS[3], **look, label=label, zorder=6)
    if measured:
        of, shares = zip(*measured, strict=True)
        heights = [100 * share for share in shares]
        axes.plot(of, heights, "D", color=COLOURS[0], markeredgecolor=ground.ink, label="runs with kills", zorder=6)
    highest = max(100 * lost * 4, *(115 * share for _, share in measured), 0)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set(xlim=(low / 1.2, high * 1.05), ylim=(0, min(highest, 105) if 100 * lost < 60 else highest))
    axes.set(xlabel=x, ylabel="share of the time lost [%]")
    axes.set_title("Save too often, and you save all day; too seldom, and you redo")
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), labelcolor=ground.ink)
    quiet_grid(axes)
    return figure
