"""A plan of a broadcast on a clock, beside serving all one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import cos, pi, sin

from course.figures.contrast import ink_on
from course.figures.drawing import arrow, box, svg, text
from course.figures.player import Film, Frame
from course.figures.style import COLOURS
from course.figures.theme_colours import FAINT, GROUND, INK

Plan = Sequence[Sequence[Sequence[int]]]
Place = tuple[float, float]
WIDE, HIGH, AROUND, RADIUS = 330, 330, 104, 19  # of a panel; of the ring of ranks; of a rank
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


def plan_film(plan: Plan, root: int = 0, seconds: float = 5) -> Film:
    """Left: the root serves one after the other. Right: the plan, on the same clock.

    plan: rounds of pairs (from, to). seconds: that a message takes. A message whose sender has not got anything yet is
    drawn in another colour, and brings nothing.
    """
    size = 1 + max((rank for pairs in plan for pair in pairs for rank in pair), default=root)
    both = {
        "one by one": ways([[(root, rank)] for rank in range(size) if rank != root], root, seconds),
        "by the plan": ways(plan, root, seconds),
    }
    moments = sorted({0.0, *(each.ends for own in both.values() for each in own)})
    frames = []
    for now in moments:
        told = caption(both, now, size, root)
        frames.append(Frame(picture(both, now, size, root, told), told))
    ends = [max((each.ends for each in own), default=0.0) for own in both.values()]
    return Film(f"a broadcast to {size} ranks: one by one it takes {ends[0]:g} s, by the plan {ends[1]:g} s", frames)


def having(own: Sequence[Way], now: float, root: int) -> set[int]:
    """The ranks that have the file after `now` seconds."""
    return {root} | {each.target for each in own if each.works and each.ends <= now}


def caption(both: dict[str, list[Way]], now: float, size: int, root: int) -> str:
    """What is to be seen after `now` seconds."""
    if now == 0:
        return f"Rank {root} has the file, the others have nothing. One message takes the whole line of two ranks."
    counts = {name: len(having(own, now, root)) - 1 for name, own in both.items()}
    told = "; ".join(f"{name}, {count} of {size - 1} have got it" for name, count in counts.items())
    idle = sum(not each.works for each in both["by the plan"] if each.begins < now)
    lines = "One orange line brings" if idle == 1 else f"{idle} orange lines bring"
    return f"After {now:g} s: {told}." + (f" {lines} nothing: the sender has nothing yet." if idle else "")


def picture(both: dict[str, list[Way]], now: float, size: int, root: int, told: str) -> str:
    """Both ways after `now` seconds."""
    shapes = [text(WIDE, 24, f"{now:g} s", 20, bold=True)]
    for number, (name, own) in enumerate(both.items()):
        middle, has = WIDE / 2 + number * WIDE, having(own, now, root)
        done = f"all have it after {max((each.ends for each in own), default=0.0):g} s" if len(has) == size else ""
        shapes += [text(middle, 52, name, 16, bold=True), text(middle, HIGH - 8, done, 15)]
        angles = [2 * pi * rank / size for rank in range(size)]
        places = [(middle + AROUND * sin(angle), 186 - AROUND * cos(angle)) for angle in angles]
        for each in own:
            part = min(1.0, (now - each.begins) / (each.ends - each.begins))
            if part > 0:
                ink = FAINT if each.ends < now else SENT if each.works else WRONG
                shapes.append(arrow(*towards(places[each.source], places[each.target], part), ink, 2.5))
        for rank, (x, y) in enumerate(places):
            fill = HAS if rank in has else GROUND
            shapes.append(box(x - RADIUS, y - RADIUS, 2 * RADIUS, 2 * RADIUS, fill, FAINT, 1.5, RADIUS))
            shapes.append(text(x, y + 5, str(rank), 15, ink=ink_on(HAS) if rank in has else INK))
    return svg(2 * WIDE, HIGH, told, *shapes)


def towards(start: Place, end: Place, part: float) -> tuple[Place, Place]:
    """A line from the rim of one disc on its way to the rim of another. part: how far it is, from 0 to 1."""
    length = ((end[0] - start[0]) ** 2 + (end[1] - start[1]) ** 2) ** 0.5
    near, far = RADIUS / length, 1 - RADIUS / length
    at = near + (far - near) * part
    first, last = [(start[0] + (end[0] - start[0]) * to, start[1] + (end[1] - start[1]) * to) for to in (near, at)]
    return first, last
