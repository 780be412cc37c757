"""Time on N ranks as N doubles: the parallel part shrinks, the sequential one stays, and communication grows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log2

from course.figures.contrast import ink_on
from course.figures.drawing import Drawing, box, drawing, line, svg, text
from course.figures.player import Film, Frame
from course.figures.style import COLOURS
from course.figures.theme_colours import FAINT

WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 620, 300, 60, 250, 40
NAMES = ("communication", "sequential", "parallel")  # from the bottom up
SHADES = (COLOURS[4], COLOURS[6], COLOURS[5])


@dataclass(frozen=True)
class Cost:
    """What a job's time is made of, in seconds: par / N + seq + per_doubling log2 N."""

    par: float
    seq: float
    per_doubling: float

    def parts(self, ranks: int) -> tuple[float, float, float]:
        """Communication, sequential and parallel seconds on so many ranks."""
        return self.per_doubling * log2(ranks), self.seq, self.par / ranks

    def seconds(self, ranks: int) -> float:
        """All of them."""
        return sum(self.parts(ranks))

    def speed_up(self, ranks: int) -> float:
        """How many times faster than one rank."""
        return self.seconds(1) / self.seconds(ranks)


def bars(cost: Cost, counts: Sequence[int], shown: int, guess: int | None = None, asks: bool = False) -> list[str]:
    """The bars for the first `shown` of `counts`, with their axes. asks: a question mark in place of the others.

    guess: the number of ranks that the reader takes to be the fastest.
    """
    step, scale = (WIDTH - LEFT - 10) / len(counts), (BOTTOM - TOP) / cost.seconds(1)
    shapes = [line((LEFT, BOTTOM), (WIDTH - 10, BOTTOM), FAINT, 1.5), text(LEFT - 8, BOTTOM + 20, "N", 15, "end")]
    for place, ranks in enumerate(counts):
        left, wide = LEFT + place * step + 6, step - 12
        shapes.append(text(left + wide / 2, BOTTOM + 20, str(ranks), 15, bold=ranks == guess))
        if ranks == guess:
            shapes.append(text(left + wide / 2, BOTTOM + 40, "your guess", 13, bold=True))
        if place >= shown:
            if asks:
                shapes.append(text(left + wide / 2, BOTTOM - 20, "?", 28))
            continue
        y = BOTTOM
        for seconds, shade in zip(cost.parts(ranks), SHADES, strict=True):
            height = seconds * scale
            y -= height
            shapes.append(box(left, y, wide, height, shade))
            if height > 18:
                shapes.append(text(left + wide / 2, y + height / 2 + 5, f"{seconds:.3g}", 13, ink=ink_on(shade)))
        shapes.append(text(left + wide / 2, y - 6, f"{cost.seconds(ranks):.1f} s", 15, bold=True))
    for place, (name, shade) in enumerate(zip(reversed(NAMES), reversed(SHADES), strict=True)):
        x = WIDTH - 150
        shapes.append(box(x, TOP + 24 * place, 16, 16, shade) + text(x + 24, TOP + 24 * place + 13, name, 15, "start"))
    return shapes


def told(cost: Cost, counts: Sequence[int]) -> str:
    """Times in words."""
    return ", ".join(f"{cost.seconds(ranks):.1f} s on {ranks}" for ranks in counts)


def time_bars(cost: Cost, counts: Sequence[int], guess: int | None = None) -> Drawing:
    """The time on each of `counts` ranks, by part, with the reader's guess of the best."""
    best = min(counts, key=cost.seconds)
    own = "" if guess is None else f" You guessed {guess}."
    alt = f"Time by number of ranks: {told(cost, counts)}. The least is on {best}.{own}"
    return drawing(WIDTH, HEIGHT, alt, *bars(cost, counts, len(counts), guess))


def how_fast(cost: Cost, counts: Sequence[int]) -> Drawing:
    """The question: the time on one rank, and none yet on more."""
    alt = (
        f"{cost.seconds(1):.0f} s on one rank. How long on {counts[1]}, and so on up to {counts[-1]}? Nobody knows yet."
    )
    return drawing(WIDTH, HEIGHT, alt, *bars(cost, counts, 1, asks=True))


def brakes_film(cost: Cost, counts: Sequence[int]) -> Film:
    """The film in which N goes through `counts`."""
    best, frames = min(counts, key=cost.seconds), []
    for place, ranks in enumerate(counts):
        communication, sequential, parallel = cost.parts(ranks)
        words = f"On {ranks} ranks" if ranks > 1 else "On one rank"
        words += f": {parallel:.1f} s of shared work, {sequential:.1f} s that nobody shares, {communication:.1f} s of "
        words += f"communication. {cost.seconds(ranks):.1f} s in all"
        if ranks > 1:
            faster = cost.seconds(counts[place - 1]) > cost.seconds(ranks)
            words += f", a speed-up of {cost.speed_up(ranks):.1f}"
            words += "." if faster else f": slower than on {counts[place - 1]}."
        else:
            words += "."
        alt = f"Time by number of ranks: {told(cost, counts[: place + 1])}."
        frames.append(Frame(svg(WIDTH, HEIGHT, alt, *bars(cost, counts, place + 1)), words))
    words = f"The best is {best} ranks, {cost.speed_up(best):.1f} times as fast as one. No number of ranks gets below "
    words += f"the {cost.seq:.0f} s that nobody shares."
    alt = f"Time by number of ranks: {told(cost, counts)}. The least is on {best}."
    frames.append(Frame(svg(WIDTH, HEIGHT, alt, *bars(cost, counts, len(counts), None)), words))
    return Film(f"A job's time on {counts[0]} to {counts[-1]} ranks", frames)
