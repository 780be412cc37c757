"""A plan of a broadcast on a clock, beside serving all one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import cos, pi, sin
from typing import Any

from matplotlib.patches import Circle

from course.figures.contrast import ink_on
from course.figures.film import Movie, filmed
from course.figures.style import COLOURS, Ground, new_figure, on_both_grounds

Plan = Sequence[Sequence[Sequence[int]]]
FRAMES = 6  # of a message
RADIUS = 0.17
HAS, SENT, WRONG = COLOURS[0], COLOURS[2], COLOURS[1]


@dataclass(frozen=True)
class Way:
    """One message of a plan, from `begins` to `ends` in seconds. works: whether its sender has what it sends."""

    source: int
    target: int
    begins: float
    ends: float
    works: bool


def ways(plan: Plan, root: int, seconds: float) -> list[Way]:
    """The messages of a plan. Those that one rank sends or receives in the same round share its line: the round takes
    as many times longer."""
    found, has, now = [], {root}, 0.0
    for pairs in plan:
        times = max(Counter(rank for pair in pairs for rank in pair).values(), default=1)
        ends = now + times * seconds
        found += [Way(source, target, now, ends, source in has) for source, target in pairs]
        has |= {target for source, target in pairs if source in has}
        now = ends
    return found


@on_both_grounds
def plan_movie(plan: Plan, root: int = 0, seconds: float = 5, *, ground: Ground) -> Movie:
    """Left: the root serves one after the other. Right: the plan, on the same clock.

    plan: rounds of pairs (from, to). seconds: that a message takes. A message whose sender has not got anything yet is
    drawn in another colour, and brings nothing.
    """
    size = 1 + max((rank for pairs in plan for pair in pairs for rank in pair), default=root)
    others = [rank for rank in range(size) if rank != root]
    films = {
        "one by one": ways([[(root, rank)] for rank in others], root, seconds),
        "the plan": ways(plan, root, seconds),
    }
    ends = {name: max((each.ends for each in own), default=0.0) for name, own in films.items()}
    idle = sum(not each.works for each in films["the plan"])
    alone, planned = ends.values()
    alt = f"A broadcast to {size} ranks: one by one it takes {alone:g} s, by the plan {planned:g} s."
    caption = "Blue ranks have the file. A thick line is a message under way, a thin one has arrived."
    if idle:
        caption += f" {idle} orange lines bring nothing, as their sender has nothing yet."
    figure, panels = new_figure(7.6, 4.1, columns=2, alt=alt, ground=ground)
    moving: list[Any] = []
    drawn = []
    for axes, (name, own) in zip(panels, films.items(), strict=True):
        axes.set(xlim=(-1.35, 1.35), ylim=(-1.3, 1.3), aspect="equal")
        axes.set_axis_off()
        title = axes.set_title(f"{name}: {ends[name]:g} s")
        places = [(-sin(-2 * pi * rank / size), cos(2 * pi * rank / size)) for rank in range(size)]
        arrows = [axes.plot([], [], linewidth=2.4, color=ground.text(SENT if each.works else WRONG))[0] for each in own]
        discs = [
            axes.add_patch(Circle(place, RADIUS, facecolor=ground.pale, edgecolor=ground.faint)) for place in places
        ]
        names = [axes.text(*place, str(rank), ha="center", va="center") for rank, place in enumerate(places)]
        moving += [*arrows, *discs, *names, title]
        drawn.append((name, own, title, places, arrows, discs, names))

    def move(frame: int) -> None:
        now = frame * seconds / FRAMES
        for name, own, title, places, arrows, discs, names in drawn:
            title.set_text(f"{name}: {min(now, ends[name]):.0f} s")
            has = {root} | {each.target for each in own if each.works and each.ends <= now + 1e-9}
            for rank, (disc, number) in enumerate(zip(discs, names, strict=True)):
                fill = HAS if rank in has else ground.pale
                disc.set_facecolor(fill)
                number.set_color(ink_on(fill))
            for each, arrow in zip(own, arrows, strict=True):
                part = min(1.0, max(0.0, (now - each.begins) / (each.ends - each.begins)))
                arrow.set_data(*towards(places[each.source], places[each.target], part) if part else ([], []))
                arrow.set(linewidth=2.4 if part < 1 else 1.2, alpha=1 if part < 1 else 0.5)

    frames = round(max(ends.values()) / seconds * FRAMES) + 1
    return Movie(filmed(figure, moving, move, frames), [90] * (frames - 1) + [3500], alt, caption)


def towards(start: tuple[float, float], end: tuple[float, float], part: float) -> tuple[list[float], list[float]]:
    """A line from the rim of one disc on its way to the rim of another. part: how far it is, from 0 to 1."""
    length = ((end[0] - start[0]) ** 2 + (end[1] - start[1]) ** 2) ** 0.5 or 1.0
    near, far = RADIUS / length, 1 - RADIUS / length
    reach = near + (far - near) * part
    xs, ys = ([a + (b - a) * at for at in (near, reach)] for a, b in zip(start, end, strict=True))
    return xs, ys
