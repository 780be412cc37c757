"""One iteration on three ranks as a film: their gradients meet, and one step is taken thrice. Then without a start."""

from __future__ import annotations

from collections.abc import Sequence

from course.figures.contrast import ink_on
from course.figures.drawing import Drawing, arrow, box, drawing, line, svg, text
from course.figures.player import Film, Frame
from course.figures.replicas.iteration import APART, SHARES, START, Pair, Samples, gradient, loss, mean, stepped
from course.figures.style import COLOURS
from course.figures.theme_colours import FAINT, INK

WEIGHTS = COLOURS[2]
OWN = (COLOURS[1], COLOURS[0], COLOURS[4])  # a rank's gradient, and its samples
WIDE, GAP, EDGE = 214, 14, 8  # of a rank's box, between boxes, around the picture
PLOT_TOP, PLOT_HIGH = 40, 116
ROWS = {"weights": 168, "gradient": 208, "mean": 280}  # tops of the rows
HIGH, BOTTOM = 30, 318
LOW_X, HIGH_X, LOW_Y, HIGH_Y = -2.6, 3.6, -2.2, 4.8  # what the small plots show


def left(rank: int) -> float:
    """The left edge of a rank's box."""
    return EDGE + rank * (WIDE + GAP)


def place(rank: int, x: float, y: float) -> tuple[float, float]:
    """Where (x, y) is in a rank's plot."""
    across, up = (x - LOW_X) / (HIGH_X - LOW_X), (y - LOW_Y) / (HIGH_Y - LOW_Y)
    return left(rank) + 10 + across * (WIDE - 20), PLOT_TOP + (1 - up) * PLOT_HIGH


def plot(rank: int, weights: Pair, samples: Samples) -> str:
    """A rank's samples, and its line as far as it is in the plot."""
    m, n = weights
    frame = box(left(rank) + 10, PLOT_TOP, WIDE - 20, PLOT_HIGH, edge=FAINT)
    ends = [LOW_X, HIGH_X] if m == 0 else sorted((edge - n) / m for edge in (LOW_Y, HIGH_Y))
    ends = [min(max(end, LOW_X), HIGH_X) for end in ends]
    drawn = line(place(rank, ends[0], m * ends[0] + n), place(rank, ends[1], m * ends[1] + n), WEIGHTS, 3)
    dots = []
    for x, y in samples:
        a, b = place(rank, x, y)
        dots.append(box(a - 5, b - 5, 10, 10, OWN[rank], INK, 1, 5))
    return frame + drawn + "".join(dots)


def numbers(rank: int, row: str, pair: Pair | None, fills: Sequence[str], now: bool) -> str:
    """Two numbers in a box, with a border if they are new. fills: one colour, or the colours of stripes below them."""
    if pair is None:
        return ""
    x, y, wide = left(rank) + 10, ROWS[row], WIDE - 20
    names = ("m", "n") if row == "weights" else ("dm", "dn")
    words = ", ".join(f"{name} {value:.2f}" for name, value in zip(names, pair, strict=True)).replace("-", "−")
    part = wide / len(fills)
    high = HIGH if len(fills) == 1 else 7
    shapes = [box(x + each * part, y + HIGH - high, part, high, fill) for each, fill in enumerate(fills)]
    edge = box(x, y, wide, HIGH, edge=INK if now else FAINT, thickness=3 if now else 1)
    ink = ink_on(fills[0]) if len(fills) == 1 else INK
    lift = 20 if len(fills) == 1 else 17
    return "".join(shapes) + edge + text(x + wide / 2, y + lift, words, 15, ink=ink)


def picture(
    weights: Sequence[Pair],
    gradients: Sequence[Pair] | None = None,
    average: Pair | None = None,
    flying: bool = False,
    now: str = "",
) -> str:
    """The three ranks. flying: whether the gradients are on their way to each other. now: the row that is new."""
    told = [f"Rank {rank} has the line {m:.2f} x + {n:.2f}" for rank, (m, n) in enumerate(weights)]
    told += [f"its gradient is ({m:.2f}, {n:.2f}) on rank {rank}" for rank, (m, n) in enumerate(gradients or ())]
    told += [] if average is None else [f"the mean on all ranks is ({average[0]:.2f}, {average[1]:.2f})"]
    shapes = []
    for rank, own in enumerate(weights):
        shapes.append(box(left(rank), 6, WIDE, BOTTOM - 6, edge=FAINT, thickness=1.5, corner=8))
        shapes.append(text(left(rank) + 10, 28, f"rank {rank}", 15, "start", bold=True))
        shapes.append(plot(rank, own, SHARES[rank]))
        shapes.append(numbers(rank, "weights", own, [WEIGHTS], now == "weights"))
        shapes.append(numbers(rank, "gradient", gradients and gradients[rank], [OWN[rank]], now == "gradient"))
        shapes.append(numbers(rank, "mean", average, OWN, now == "mean"))
    if flying:
        for source in range(3):
            for target in range(3):
                start = (left(source) + WIDE / 2 + 12 * (target - 1), ROWS["gradient"] + HIGH)
                end = (left(target) + WIDE / 2 + 12 * (source - 1), ROWS["mean"] - 1)
                shapes.append(arrow(start, end, OWN[source]))
    return svg(2 * EDGE + 3 * WIDE + 2 * GAP, BOTTOM + 4, "; ".join(told).replace("+ -", "- ") + ".", *shapes)


def three_gradients() -> Drawing:
    """The question: three ranks, three gradients, and an average that is missing."""
    gradients = [gradient(START, samples) for samples in SHARES]
    inside = picture([START] * 3, gradients, now="gradient").split(">", 1)[1].removesuffix("</svg>")
    asks = [text(left(rank) + WIDE / 2, ROWS["mean"] + 24, "step ?", 24) for rank in range(3)]
    alt = "Three ranks with the same line, each with samples and a gradient of its own. Which step they take is asked."
    return drawing(2 * EDGE + 3 * WIDE + 2 * GAP, BOTTOM + 4, alt, inside, *asks)


def frames_of(starts: Sequence[Pair], opening: str, heading: str) -> list[Frame]:
    """An iteration from these weights. opening: the first caption. heading: what the others begin with."""
    gradients = [gradient(own, samples) for own, samples in zip(starts, SHARES, strict=True)]
    average = mean(gradients)
    after = [stepped(own, average) for own in starts]
    losses = " and ".join(f"{loss(own, samples):.2f}" for own, samples in zip(starts, SHARES, strict=True))
    losses = losses.replace(" and ", ", ", 1)
    same = len({*starts}) == 1
    end = (
        "Started alike, stepped alike: still one model. The next iteration can begin."
        if same
        else "The same step from three places leads to three places. The lines are as far from each other as before."
    )
    return [
        Frame(picture(starts, now="weights"), opening),
        Frame(picture(starts), f"{heading}forward. Each rank has two samples of its own. Their losses: {losses}."),
        Frame(picture(starts, gradients, now="gradient"), f"{heading}backward. Three gradients, in three colours."),
        Frame(picture(starts, gradients, flying=True), f"{heading}all-reduce. Every gradient is needed by every rank."),
        Frame(picture(starts, gradients, average, now="mean"), f"{heading}all have the same mean of the three."),
        Frame(picture(after, gradients, average, now="weights"), f"{heading}each rank steps by 0.1 times the mean."),
        Frame(picture(after), f"{heading}gradients are reset. {end}"),
    ]


def iteration_film() -> Film:
    """The film: an iteration that begins with one model, and one that begins with three."""
    alike = "Three ranks, and one model on all of them: the green line, and the green numbers below it."
    apart = "Once more, but somebody forgot the broadcast: each rank has drawn weights of its own."
    frames = frames_of([START] * 3, alike, "One model: ") + frames_of(APART, apart, "Three models: ")
    return Film("An iteration of data parallelism on three ranks", frames)
