"""Two plans for one all-reduce on 16 ranks: which is done first? A film shows it for larger and larger arrays."""

from __future__ import annotations

from collections.abc import Sequence

from course.figures.collectives.fit import ring_seconds, tree_seconds
from course.figures.collectives.time_picture import in_units
from course.figures.drawing import Drawing, box, drawing, svg, text
from course.figures.player import Film, Frame
from course.figures.style import COLOURS
from course.figures.theme_colours import FAINT, INK

RANKS = 16
PLANS = {"a tree: 8 rounds, each with the whole array": (8, 1.0), "a ring: 30 rounds, each with a 16th": (30, 1 / 16)}
WIDTH, LEFT, TOP, ROW, HIGH = 620, 16, 48, 96, 36


def rounds_of(number: int, name: str, start: float, whole: float, gap: float, told: str) -> list[str]:
    """A plan's rounds in a row. start, whole, gap: widths of a start-up, a whole array's time, and between rounds."""
    rounds, share = PLANS[name]
    y, step = TOP + number * ROW, start + share * whole + gap
    shapes = [text(LEFT, y + 12, name, anchor="start")]
    for each in range(rounds):
        x = LEFT + each * step
        shapes.append(box(x, y + 24, start, HIGH, INK))
        shapes.append(box(x + start, y + 24, share * whole, HIGH, COLOURS[number]))
    return [*shapes, text(LEFT + rounds * step + 8, y + 24 + HIGH - 11, told, 18, "start")]


def legend(words: str) -> list[str]:
    """What the colours mean."""
    y = TOP + 2 * ROW + 8
    shapes = [box(LEFT, y, 7, 18, INK), text(LEFT + 18, y + 14, "a start-up", 14, "start")]
    shapes += [box(LEFT + 110 + 18 * number, y, 14, 18, COLOURS[number], FAINT) for number in range(2)]
    return [*shapes, text(LEFT + 150, y + 14, words, 14, "start")]


def plan_question() -> Drawing:
    """The rounds of a tree and of a ring: each is a start-up, and then what is sent. How long they take is not said."""
    shapes = [text(LEFT, 24, f"An all-reduce on {RANKS} ranks", anchor="start", bold=True)]
    for number, name in enumerate(PLANS):
        shapes += rounds_of(number, name, 7, 56, 3, "? ms")
    shapes += legend("what is sent. How wide is each?")
    alt = f"An all-reduce on {RANKS} ranks by two plans. {'; '.join(PLANS)}. How long each takes is asked."
    return drawing(WIDTH, TOP + 2 * ROW + 38, alt, *shapes)


def plans_film(sizes: Sequence[float], alpha: float, beta: float) -> Film:
    """A frame for each size of the array, in bytes; both plans to one scale. alpha, beta: of a message, in seconds."""
    frames = []
    for nbytes in sizes:
        took = [each(nbytes, RANKS, alpha, beta) for each in (tree_seconds, ring_seconds)]
        scale = (WIDTH - 2 * LEFT - 110) / max(took)
        told = [f"{1e6 * seconds:,.0f} µs" if seconds < 1e-3 else f"{1e3 * seconds:.2g} ms" for seconds in took]
        shapes = [text(LEFT, 24, f"An array of {in_units(nbytes)}", anchor="start", bold=True)]
        for number, name in enumerate(PLANS):
            shapes += rounds_of(number, name, alpha * scale, beta * nbytes * scale, 0, told[number])
        faster = "The tree" if took[0] < took[1] else "The ring"
        words = f"{in_units(nbytes)}: the tree takes {told[0]}, the ring {told[1]}. {faster} is faster"
        words += f", {max(took) / min(took):.1f} times." if max(took) > 1.05 * min(took) else ", but hardly."
        alt = f"An all-reduce of {in_units(nbytes)}. {'; '.join(PLANS)}. They take {told[0]} and {told[1]}."
        shapes += legend("what is sent")
        frames.append(Frame(svg(WIDTH, TOP + 2 * ROW + 38, alt, *shapes), words))
    return Film(f"An all-reduce on {RANKS} ranks, by two plans", frames)
