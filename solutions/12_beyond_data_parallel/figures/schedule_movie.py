"""A pipeline's schedule as a film, beside a well-known one: bubbles, and the activations that each stage keeps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from matplotlib.patches import Patch, Rectangle

from course.figures.contrast import ink_on
from course.figures.film import Movie, filmed
from course.figures.splitting.schedules import (
    Plan,
    gpipe,
    in_ticks,
    kept,
    kept_activations,
    micro_batches_of,
    missing,
    one_forward_one_backward,
    too_early,
)
from course.figures.style import COLOURS, Ground, Picture, new_figure, on_both_grounds

FORWARD, BACKWARD, WRONG, KEPT = COLOURS[2], COLOURS[5], COLOURS[1], COLOURS[3]
WIDTH, ROW = 8.9, 0.25  # inches: of the figure, and of a stage's row
HEAD, GAP, FOOT = 1.7, 1.3, 0.9  # rows: above a schedule, above what is kept, and below it
NUMBERED = 36  # ticks up to which a cell shows its micro-batch
BESIDE = 0.21  # room for the numbers at the right, as part of the time axis
MILLISECONDS, LAST = 330, 3500  # that a tick and the last image are shown


@on_both_grounds
def schedule_movie(plan: Plan, *, ground: Ground) -> Movie:
    """The plan above, and 1F1B below; where the plan is right and keeps as little as 1F1B, GPipe's schedule.

    plan: a list for each stage, of ("F", i), ("B", i) or None for a bubble. Passes that begin before their input is
    there have another colour. Raises ValueError for anything else.
    """
    figure, moving, move, ticks = drawn(plan, ground)
    wrong, lost = len(too_early(plan)), missing(plan)
    caption = "Numbers are micro-batches. Bars: how many micro-batches' activations a stage keeps at this tick."
    caption += f" Orange: {wrong} of your passes begin before what they need is over." * bool(wrong)
    caption += f" {lost} of your passes are missing." * bool(lost)
    return Movie(filmed(figure, moving, move, ticks + 1), [MILLISECONDS] * ticks + [LAST], figure.alt, caption)


@on_both_grounds
def schedule_picture(plan: Plan, *, ground: Ground) -> Picture:
    """The last image of the film."""
    figure, _, move, ticks = drawn(plan, ground)
    move(ticks)
    return figure


def drawn(plan: Plan, ground: Ground) -> tuple[Picture, list[Any], Callable[[int], None], int]:
    """The figure, what moves in it, what moves it to the end of a tick, and how many ticks there are."""
    micro_batches, stages = micro_batches_of(plan), len(plan)
    ticks = max(1, *map(len, plan), 0)
    if micro_batches > ticks:
        raise ValueError(f"a plan of {ticks} ticks has no micro-batch {micro_batches - 1}")
    right = not too_early(plan) and not missing(plan)
    plain = in_ticks(one_forward_one_backward(stages, micro_batches))
    frugal = right and max(kept_activations(plan)) <= max(kept_activations(plain), default=0) and micro_batches > 1
    name, other = ("GPipe", in_ticks(gpipe(stages, micro_batches))) if frugal else ("1F1B", plain)
    plans = {"Your plan": plan, name: other}
    ticks = max(ticks, *map(len, other))
    block = 2 * stages + HEAD + GAP
    height = len(plans) * block + FOOT
    alt = " ".join(in_words(name, rows) for name, rows in plans.items())
    figure, axes = new_figure(WIDTH, 0.5 + ROW * height, alt=alt, ground=ground)
    most = max(1, *(max(row, default=0) for rows in plans.values() for row in kept(rows)))
    panels = [
        Panel(name, rows, number * block + HEAD, ticks, most) for number, (name, rows) in enumerate(plans.items())
    ]
    for panel in panels:
        panel.draw(axes, ground)
    axes.set(xlim=(0, ticks * (1 + BESIDE)), ylim=(height - FOOT + 0.2, 0), xlabel="time [ticks]")
    step = next(step for step in (1, 2, 5, 10, 20, 50, 100) if ticks / step <= 24 or step == 100)
    axes.set_xticks(range(0, ticks + 1, step))
    axes.set_yticks([y for panel in panels for y in panel.rows], [f"stage {stage}" for stage in range(stages)] * 4)
    axes.tick_params(axis="y", length=0)
    axes.spines[:].set_visible(False)
    inks = {"forward": FORWARD, "backward": BACKWARD, "bubble": ground.pale, "activations kept": KEPT}
    if too_early(plan):
        inks["begins too early"] = WRONG
    patches = [Patch(color=colour, label=name) for name, colour in inks.items()]
    figure.legend(handles=patches, loc="outside lower center", ncols=len(patches))
    reaches = [reach for panel in panels for reach in panel.reaches]
    hidden = {"facecolor": ground.paper, "edgecolor": "none", "zorder": 5}
    covers = [axes.add_patch(Rectangle((0, 0), 0, 0, **hidden)) for _ in reaches]
    clocks = [axes.plot([0, 0], reach, color=ground.ink, linewidth=1.2, zorder=6)[0] for reach in reaches]
    counts = [panel.counters(axes, ground) for panel in panels]

    def move(frame: int) -> None:
        for (low, high), cover, clock in zip(reaches, covers, clocks, strict=True):
            cover.set_bounds(frame, low, ticks - frame, high - low)
            clock.set_xdata([frame, frame])
        for panel, texts in zip(panels, counts, strict=True):
            for text, words in zip(texts, panel.counted(frame), strict=True):
                text.set_text(words)

    return figure, [*covers, *clocks, *(text for texts in counts for text in texts)], move, ticks


class Panel:
    """One schedule, and below it what each stage keeps.

    top: where its first row begins. ticks: of the time axis. most: the highest bar of all panels.
    """

    def __init__(self, name: str, plan: Plan, top: float, ticks: int, most: int) -> None:
        self.name, self.plan, self.top, self.ticks, self.most = name, plan, top, ticks, most
        self.kept = kept(plan)
        self.low = top + len(plan) + GAP

    @property
    def rows(self) -> list[float]:
        """The middle of each row: first of the passes, then of what is kept."""
        return [start + stage + 0.5 for start in (self.top, self.low) for stage in range(len(self.plan))]

    @property
    def reaches(self) -> list[tuple[float, float]]:
        """Where its rows begin and end: those of the passes, and those of what is kept."""
        return [(start - 0.1, start + len(self.plan) + 0.1) for start in (self.top, self.low)]

    def draw(self, axes: Any, ground: Ground) -> None:
        """All that does not move."""
        early, side = too_early(self.plan), {"edgecolor": ground.paper, "linewidth": 0.8}
        axes.text(0, self.top - 0.35, heading(self.name, self.plan), fontweight="bold", fontsize=10.5)
        axes.text(0, self.low - 0.3, "Micro-batches whose activations a stage keeps")
        for stage, row in enumerate(self.plan):
            y, y_kept = self.top + stage, self.low + stage + 0.96
            for tick, each in enumerate(row):
                fill = ground.pale
                if each is not None:
                    fill = WRONG if (stage, tick) in early else (FORWARD if each[0] == "F" else BACKWARD)
                axes.add_patch(Rectangle((tick, y + 0.04), 1, 0.92, facecolor=fill, **side))
                if each is not None and self.ticks <= NUMBERED:
                    middle = {"ha": "center", "va": "center_baseline", "fontsize": 8}
                    axes.text(tick + 0.5, y + 0.53, each[1], color=ink_on(fill), **middle)
            for tick, count in enumerate(self.kept[stage][: len(row)]):
                high = 0.86 * count / self.most
                axes.add_patch(Rectangle((tick + 0.02, y_kept - high), 0.96, high, facecolor=KEPT, linewidth=0))
            axes.plot([0, self.ticks], [y_kept] * 2, color=ground.faint, linewidth=0.6, solid_capstyle="butt")

    def counters(self, axes: Any, ground: Ground) -> list[Any]:
        """The numbers beside the bars."""
        left = self.ticks * (1 + BESIDE / 12)
        return [axes.text(left, y, "", va="center_baseline", color=ground.ink) for y in self.rows[len(self.plan) :]]

    def counted(self, tick: int) -> list[str]:
        """What each stage keeps in the tick that ends, and has kept at most; at the end only that."""
        if tick >= self.ticks:
            return [f"at most {max(row, default=0)}" for row in self.kept]
        past = [[0, *row[:tick], *[0] * (tick - len(row))] for row in self.kept]
        return [f"now {row[-1]}, at most {max(row)}" for row in past]


def heading(name: str, plan: Plan) -> str:
    """How long a plan takes, and how much of it stages are idle."""
    ticks = max(map(len, plan))
    shares = [1 - sum(each is not None for each in row) / ticks if ticks else 0.0 for row in plan]
    least, most = min(shares), max(shares)
    idle = f"{least:.0%}" if f"{least:.0%}" == f"{most:.0%}" else f"{least:.0%} to {most:.0%}"
    return f"{name}: {ticks} ticks, {'stages' if 'to' in idle else 'each stage'} idle in {idle} of them"


def in_words(name: str, plan: Plan) -> str:
    """A schedule in a sentence."""
    stages, wrong, lost = len(plan), len(too_early(plan)), missing(plan)
    told = f"{heading(name, plan)}. Stages: {stages}; micro-batches: {micro_batches_of(plan)}."
    told += f" Micro-batches of which stages keep activations, at most: {listed(kept_activations(plan))}."
    told += f" {wrong} passes begin too early." * bool(wrong)
    return told + f" {lost} passes are missing." * bool(lost)


def listed(numbers: Sequence[int]) -> str:
    """``4, 3, 2 and 1``."""
    *first, last = map(str, numbers)
    return f"{', '.join(first)} and {last}" if first else last
