"""A backward pass step by step: gradients appear from right to left, fall into buckets, and leave on a second lane."""

from __future__ import annotations

from course.figures.contrast import ink_on
from course.figures.drawing import Drawing, box, drawing, line, svg, text
from course.figures.overlap.bucket_plan import LAYERS, Plan, plan
from course.figures.player import Film, Frame
from course.figures.style import COLOURS
from course.figures.theme_colours import FAINT, INK

SHADES = (COLOURS[0], COLOURS[4], COLOURS[2], COLOURS[3])  # of one bucket after the other
LEFT, PITCH, WIDE = 92, 72, 64  # where the first layer is, from layer to layer, and a layer's width
LAYER, BUCKET, LANES, AXIS = 10, 72, (164, 200), 236  # tops of the rows
WIDTH, HEIGHT, LONGEST = 684, 276, 170.0  # the clock's end, in ms


def at(milliseconds: float) -> float:
    """Where a moment is on the clock."""
    return LEFT + milliseconds / LONGEST * (LAYERS * PITCH)


def lanes(own: Plan, now: float) -> list[str]:
    """The two lanes up to now, and the clock below them."""
    shapes = [text(LEFT - 8, top + 19, name, 14, "end") for top, name in zip(LANES, ("backward", "line"), strict=True)]
    for layer, (begin, end) in enumerate(own.computed):
        if begin < now:
            fill = SHADES[(LAYERS - 1 - layer) * own.buckets // LAYERS % len(SHADES)]
            shapes.append(box(at(begin) + 1, LANES[0], at(min(end, now)) - at(begin) - 2, 28, fill))
            if end <= now:
                shapes.append(text((at(begin) + at(end)) / 2, LANES[0] + 19, str(layer), 13, ink=ink_on(fill)))
    for bucket, (begin, end) in enumerate(own.sent):
        if begin < now:
            shapes.append(box(at(begin) + 1, LANES[1], at(min(end, now)) - at(begin) - 2, 28, SHADES[bucket % 4]))
            ready = min(begin + own.start_up, now)
            if own.start_up:
                shapes.append(box(at(begin) + 1, LANES[1], at(ready) - at(begin) - 2, 28, COLOURS[6]))
    shapes.append(line((LEFT, AXIS), (at(LONGEST), AXIS), FAINT, 1))
    for tick in range(0, 161, 20):
        shapes += [line((at(tick), AXIS), (at(tick), AXIS + 5), FAINT, 1), text(at(tick), AXIS + 19, str(tick), 12)]
    shapes.append(text(LEFT - 8, AXIS + 19, "ms", 12, "end"))
    if now > 0:
        shapes.append(line((at(now), LANES[0] - 6), (at(now), AXIS + 5), INK, 1.5))
    return shapes


def picture(own: Plan, now: float, words: str) -> str:
    """The layers, their buckets and the lanes at a moment. words: the alternative text."""
    shapes = [text(LEFT - 8, LAYER + 25, "layers", 14, "end"), text(LEFT - 8, BUCKET + 27, "buckets", 14, "end")]
    for layer, (begin, end) in enumerate(own.computed):
        busy = begin <= now < end
        shapes.append(
            box(LEFT + layer * PITCH, LAYER, WIDE, 40, edge=INK if busy else FAINT, thickness=3 if busy else 1)
        )
        shapes.append(text(LEFT + layer * PITCH + WIDE / 2, LAYER + 26, str(layer), 17, bold=busy))
    for bucket, (begin, end) in enumerate(own.sent):
        fill, layers = SHADES[bucket % len(SHADES)], own.held(bucket)
        left, wide = LEFT + layers[0] * PITCH, (len(layers) - 1) * PITCH + WIDE
        shapes.append(box(left, BUCKET, wide, 44, edge=fill, thickness=2.5, corner=5))
        ready = [layer for layer in layers if own.computed[layer][1] <= now]
        away = begin <= now < end
        for layer in [] if away else ready:
            shapes.append(box(LEFT + layer * PITCH + 7, BUCKET + 7, WIDE - 14, 30, fill, corner=3))
            name = "mean" if now >= end else str(layer)
            shapes.append(text(LEFT + layer * PITCH + WIDE / 2, BUCKET + 27, name, 14, ink=ink_on(fill)))
        state = "there" if now >= end else "on the line" if away else f"{len(ready)} of {len(layers)}"
        named = f"bucket {bucket}: {state}" if len(layers) > 1 else state
        shapes.append(text(left + wide / 2, BUCKET + 62, named, 13))
    return svg(WIDTH, HEIGHT, words, *shapes, *lanes(own, now))


def told(own: Plan, now: float) -> str:
    """What happens at a moment, as a sentence."""
    parts = [f"layer {layer}'s gradient is there" for layer, (_, end) in enumerate(own.computed) if end == now]
    parts += [f"bucket {bucket} has arrived" for bucket, (_, end) in enumerate(own.sent) if end == now]
    parts += [f"bucket {bucket} leaves" for bucket, (begin, _) in enumerate(own.sent) if begin == now]
    if now == own.total:
        parts.append(f"all is done, {now - own.computed[0][1]:.0f} ms after the backward pass")
    return (
        f"{now:.0f} ms: {'; '.join(parts) or 'the backward pass begins with the last layer, and no gradient is there'}."
    )


def bucket_film(buckets: int = 4, start_up: float = 0.0) -> Film:
    """The film of one pass, a frame for each moment at which something happens."""
    own = plan(buckets, start_up)
    moments = sorted({0.0, *(end for _, end in own.computed), *(moment for span in own.sent for moment in span)})
    frames = [Frame(picture(own, now, told(own, now)), told(own, now)) for now in moments]
    return Film(f"a backward pass of {LAYERS} layers, {buckets} buckets", frames)


def sizes_film(start_up: float = 6.0) -> Film:
    """A frame for each number of buckets, from large ones to small ones: without start-ups, then with them."""
    frames = []
    for cost in (0.0, start_up):
        for own in (plan(buckets, cost) for buckets in (1, 2, 4, 8)):
            many = f"{own.buckets} buckets" if own.buckets > 1 else "One bucket"
            paid = f"{cost:g} ms of start-up each (grey)" if cost else "no start-ups"
            size = f"{LAYERS // own.buckets} layers" if own.buckets < LAYERS else "one layer"
            words = f"{many} of {size}, {paid}: "
            words += f"all is done after {own.total:.0f} ms."
            frames.append(Frame(picture(own, own.total, words), words))
    return Film("a backward pass with buckets of other sizes", frames)


def two_lanes() -> Drawing:
    """The question: a backward pass of 80 ms, 80 ms on the line, and nobody has said from when."""
    own = plan(1)
    busy = [each for each in lanes(own, own.total) if each]
    alt = (
        "Two bars on a clock. A backward pass of eight layers takes 80 ms; then the line carries the gradients, 80 ms."
    )
    return drawing(
        WIDTH, HEIGHT - LANES[0] + 20, alt, f'<g transform="translate(0 {20 - LANES[0]})">{"".join(busy)}</g>'
    )
