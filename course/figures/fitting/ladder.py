"""What a GPU keeps, choice after choice: a picture of bars below each other, and a film that adds one at a time."""

from __future__ import annotations

from course.figures.drawing import Drawing, box, drawing, line, svg, text
from course.figures.fitting.shares import Choice, Setting, fits, kept, node, sent, states, total
from course.figures.player import Film, Frame
from course.figures.splitting.memory_bars import PARTS
from course.figures.theme_colours import FAINT, INK

WIDTH, EDGE = 440, 6
TOP, ROW, BAR = 104, 48, 18  # of the first row, from row to row, and height of a bar
BEYOND = 3.2  # times the room of a GPU that the picture is wide; longer bars are cut off
TRADES = {1.0: "A step sends as much as plain data parallelism", 1.5: "A step sends half as much again"}


def choices(setting: Setting) -> dict[str, Choice]:
    """The choices of the film, each on top of the one before."""
    wide = node(setting)
    return {
        "1. Data parallel (ZeRO 0)": Choice(),
        "2. ZeRO 1: optimizer state in shards": Choice(1),
        "3. ZeRO 2: gradients as well": Choice(2),
        "4. ZeRO 3: weights as well": Choice(3),
        "5. + activations recomputed": Choice(3, recompute=True),
        f"6. + layers cut over {wide} GPUs": Choice(3, recompute=True, tensor=wide),
    }


def ladder(setting: Setting, rows: int = 1) -> Drawing:
    """The first rows of the picture, and question marks in the others."""
    return drawing(*picture(setting, rows))


def ladder_film(setting: Setting, guess: int | None = None) -> Film:
    """A choice more with each frame, from the second on. guess: which row is the first that fits; None: no guess."""
    ways = choices(setting)
    first = next((number for number, choice in enumerate(ways.values(), 1) if fits(setting, choice)), None)
    frames = []
    for number, (name, choice) in enumerate(ways.items(), 1):
        words = caption(setting, name, choice)
        if number == first:
            words += " This is the first that fits."
        if guess is not None and number == (first or len(ways)):
            words += f" You guessed row {guess}."
        frames.append(Frame(svg(*picture(setting, number)), words))
    return Film("what a GPU keeps, choice after choice", frames[1:])


def caption(setting: Setting, name: str, choice: Choice) -> str:
    """What a choice does, in numbers."""
    own = kept(setting, choice)
    told = f"{name}: {in_gb(states(setting, choice))} of model states, {in_gb(own['activations'])} of activations. "
    if choice.tensor > 1:
        return told + "All GPUs of a group wait for six sums in each layer (lecture 14)."
    if choice.recompute:
        return told + "Of a layer, only what comes in is kept: about one more forward pass."
    return told + f"{TRADES[sent(choice.stage)]}."


def picture(setting: Setting, rows: int) -> tuple[float, float, str, *tuple[str, ...]]:
    """Width, height, words and shapes, of the first rows."""
    ways = choices(setting)
    totals = {name: total(setting, choice) for name, choice in ways.items()}
    room = setting.room
    wide = min(max(*totals.values(), 1.1 * room), BEYOND * room)
    scale = (WIDTH - 2 * EDGE) / wide
    head = f"{setting.billions:g} billion weights on {setting.gpus} GPUs of {setting.gigabytes:g} GB"
    below = f"precision: {setting.precision}; {setting.tokens:,} tokens on each GPU"
    shapes = [text(EDGE, 18, head, 15, "start", bold=True), text(EDGE, 37, below, 14, "start")]
    left = EDGE
    for part, colour in PARTS.items():
        shapes += box(left, 51, 12, 12, colour), text(left + 17, 62, part, 14, "start")
        left += 34 + 7 * len(part)
    edge = EDGE + room * scale
    bottom = TOP + ROW * len(ways) - 8
    shapes.append(text(edge, TOP - 12, f"{room / 1e9:g} of {setting.gigabytes:g} GB", 14))
    told = []
    for number, (name, choice) in enumerate(ways.items()):
        y, shown, now = TOP + number * ROW, number < rows, number == rows - 1
        shapes.append(text(EDGE, y + 10, name, 14, "start", bold=now, ink=INK if shown else FAINT))
        if not shown:
            shapes.append(text(WIDTH - EDGE, y + 10, "?", 14, "end", ink=FAINT))
            continue
        verdict = "fits" if fits(setting, choice) else "too large"
        shapes.append(text(WIDTH - EDGE, y + 10, f"{in_gb(totals[name])}, {verdict}", 14, "end", bold=now))
        shapes += bar(kept(setting, choice), y + 17, scale)
        shapes.append(line((edge, y + 14), (edge, y + 20 + BAR), thickness=2.5))
        told.append(f"{name}: {in_gb(totals[name])}, {verdict}")
    return (WIDTH, bottom + 4, f"What a GPU keeps. {head}, {below}. {'; '.join(told)}.", *shapes)


def bar(own: dict[str, float], y: float, scale: float) -> list[str]:
    """The parts side by side, up to the right edge."""
    shapes, left = [], EDGE
    for part, colour in PARTS.items():
        wide = min(own[part] * scale, WIDTH - EDGE - left)
        if wide > 0:
            shapes.append(box(left, y, wide, BAR, colour))
            left += wide
    if sum(own.values()) * scale > WIDTH - 2 * EDGE + 1:  # it goes on
        shapes += (box(WIDTH - EDGE - at, y, 3, BAR, "var(--jp-layout-color0, #FFFFFF)") for at in (14, 8))
    return shapes


def in_gb(count: float) -> str:
    """Bytes as gigabytes, in three digits."""
    size = count / 1e9
    return f"{size:,.0f} GB" if size >= 100 else f"{size:.1f} GB" if size >= 1 else f"{size:.2f} GB"
