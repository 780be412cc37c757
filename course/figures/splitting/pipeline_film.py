"""Micro-batches walk through the stages of a pipeline, tick by tick, and leave their trace in the plan below."""

from __future__ import annotations

from course.figures.contrast import ink_on
from course.figures.drawing import arrow, box, svg, text
from course.figures.player import Film, Frame
from course.figures.splitting.clock_picture import FILLS
from course.figures.splitting.memory_bars import PARTS
from course.figures.splitting.schedules import Plan, kept, micro_batches_of
from course.figures.style import COLOURS
from course.figures.theme_colours import EDGE, FAINT, INK

KEPT = PARTS["activations"]
EDGE_X, ACROSS, WIDE, HIGH, TOP = 66, 168, 112, 58, 34  # the stages' boxes
KEEP = 132  # top of what they keep
GRID, ROW = 196, 26  # top of the plan, and height of a row in it
WIDTH = 740
NAMES = {"F": "forward", "B": "backward"}


def pipeline_film(plan: Plan) -> Film:
    """The film. plan: by stage, of at most 6, and tick: ("F", i), ("B", i) or None, as `in_ticks` makes it."""
    ticks, micro_batches = max(map(len, plan)), micro_batches_of(plan)
    words = f"{len(plan)} stages with a layer each, and {micro_batches} micro-batches. Nothing has been computed yet."
    frames = [Frame(picture(plan, 0, words), words)]
    for tick in range(1, ticks + 1):
        words = f"Tick {tick}. {sentence(plan, tick)}"
        if tick == ticks:
            words += f" Each stage was idle {idle_words(plan)}."
        frames.append(Frame(picture(plan, tick, words), words))
    return Film(f"{micro_batches} micro-batches walk through {len(plan)} stages", frames)


def sentence(plan: Plan, tick: int) -> str:
    """What the stages do in a tick, counted from 1."""
    now = {stage: row[tick - 1] if tick <= len(row) else None for stage, row in enumerate(plan)}
    told = []
    for kind, name in NAMES.items():
        places = [f"{each[1]} on stage {stage}" for stage, each in now.items() if each and each[0] == kind]
        if places:
            told.append(f"{name.capitalize()}: micro-batch {', '.join(places)}.")
    idle = [str(stage) for stage, each in now.items() if each is None]
    told.append(f"Idle: stage{'s' * (len(idle) > 1)} {', '.join(idle)}." if idle else "No stage is idle.")
    return " ".join(told)


def idle_words(plan: Plan) -> str:
    """In how many of all ticks the stages are idle."""
    ticks = max(map(len, plan))
    counts = sorted({ticks - sum(each is not None for each in row) for row in plan})
    share = f", {counts[0] / ticks:.0%}" if len(counts) == 1 else ""
    return f"in {' or '.join(map(str, counts))} of {ticks} ticks{share}"


def picture(plan: Plan, tick: int, alt: str) -> str:
    """The stages in a tick, what they keep, and the plan up to it. tick: from 1; 0 is before the first one."""
    keeps, most = kept(plan), micro_batches_of(plan)
    across = min(ACROSS, (WIDTH - EDGE_X) / len(plan))
    shapes = [text(4, KEEP + 15, "keeps", 14, "start")]
    for stage, row in enumerate(plan):
        now = row[tick - 1] if 0 < tick <= len(row) else None
        x = EDGE_X + stage * across
        wide = across - (ACROSS - WIDE)
        shapes += stage_box(x, wide, stage, now)
        if now and now[0] == "F" and stage:
            shapes.append(arrow((x - ACROSS + WIDE + 4, TOP + 18), (x - 4, TOP + 18)))
        if now and now[0] == "B" and stage + 1 < len(plan):
            shapes.append(arrow((x + across - 4, TOP + HIGH - 18), (x + wide + 4, TOP + HIGH - 18)))
        side = min(18.0, (wide + 40) / most)
        for number in range(keeps[stage][tick - 1] if tick else 0):
            shapes.append(box(x + number * side, KEEP, side - 3, 18, KEPT))
    return svg(WIDTH, GRID + ROW * (len(plan) + 1), alt, *shapes, *grid(plan, tick))


def stage_box(x: float, wide: float, stage: int, now: tuple[str, int] | None) -> list[str]:
    """A stage, and the micro-batch that is in it now."""
    middle = x + wide / 2
    shapes = [text(middle, 20, f"stage {stage}", 15, bold=True, ink=INK)]
    if now is None:
        return [
            *shapes,
            box(x, TOP, wide, HIGH, edge=EDGE, thickness=1.5, corner=7),
            text(middle, TOP + 35, "idle", 15),
        ]
    fill = FILLS[now[0]]
    shapes.append(box(x, TOP, wide, HIGH, fill, INK, 2, 7))
    shapes.append(text(middle, TOP + 27, str(now[1]), 20, bold=True, ink=ink_on(fill)))
    return [*shapes, text(middle, TOP + 47, NAMES[now[0]], 14, ink=ink_on(fill))]


def grid(plan: Plan, tick: int) -> list[str]:
    """The plan up to a tick: a row for each stage, a cell for each tick, the last one framed."""
    ticks = max(map(len, plan))
    side = min(44.0, (WIDTH - EDGE_X - 4) / ticks)
    shapes = []
    if side > 17:
        shapes += [text(EDGE_X + side * number + side / 2, GRID - 6, str(number + 1), 12) for number in range(tick)]
    shapes.append(text(4, GRID - 6, "tick", 13, "start"))
    for stage, row in enumerate(plan):
        y = GRID + stage * ROW
        shapes.append(text(4, y + 18, f"stage {stage}", 13, "start"))
        shapes.append(box(EDGE_X, y, ticks * side - 2, ROW - 3, edge=FAINT))
        for number in range(tick):
            each = row[number] if number < len(row) else None
            frame = (INK, 2) if number == tick - 1 else ()
            fill = FILLS[each[0]] if each else COLOURS[6]
            shapes.append(box(EDGE_X + number * side, y, side - 2, ROW - 3, fill, *frame))
            if each and side > 17:
                shapes.append(text(EDGE_X + number * side + side / 2 - 1, y + 17, str(each[1]), 13, ink=ink_on(fill)))
    below = GRID + len(plan) * ROW + 18
    for number, (words, fill) in enumerate(
        (("forward", FILLS["F"]), ("backward", FILLS["B"]), ("idle", COLOURS[6]), ("activations kept", KEPT))
    ):
        x = EDGE_X + number * 120
        shapes += box(x, below - 11, 12, 12, fill), text(x + 18, below, words, 13, "start")
    return shapes
