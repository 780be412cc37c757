"""Operations that call others, as bars below each other: an operation's own time, and that of the others."""

from __future__ import annotations

from collections.abc import Sequence

from course.figures.drawing import Drawing, box, drawing, text
from course.figures.style import COLOURS
from course.figures.theme_colours import INK
from course.profiles.spans import Span

WIDTH, MARGIN, BAR, ROW, LINE = 408, 8, 26, 62, 18
OWN, OTHERS = COLOURS[1], COLOURS[5]


def self_time_picture(outer: Span, inner: Sequence[Span]) -> Drawing:
    """One operation, and below it those that it calls, one after the other.

    inner: in their order, within `outer`, none within another. Times are written in microseconds. The dark parts of
    the upper bar are its self time. Raises ValueError for spans that are not so placed.
    """
    moments = [outer.start, *(moment for span in inner for moment in (span.start, span.end)), outer.end]
    if moments != sorted(moments) or outer.seconds <= 0:
        raise ValueError(f"the inner operations lie in {outer.name}, one after the other: {moments}")
    scale = (WIDTH - 2 * MARGIN) / outer.seconds

    def bar(start: float, end: float, top: float, fill: str, edge: str = "none") -> str:
        return box(MARGIN + (start - outer.start) * scale, top, (end - start) * scale, BAR, fill, edge)

    own = outer.seconds - sum(span.seconds for span in inner)
    shapes = [text(MARGIN, LINE, told(outer, own), anchor="start", bold=True)]
    top = LINE + 10
    shapes.append(bar(outer.start, outer.end, top, OTHERS))
    shapes += [bar(start, end, top, OWN) for start, end in zip(moments[::2], moments[1::2], strict=True)]
    shapes.append(bar(outer.start, outer.end, top, "none", INK))
    for number, span in enumerate(inner):
        top = LINE + 10 + ROW * (number + 1)
        shapes.append(text(MARGIN, top - 8, f"calls {told(span, span.seconds)}", anchor="start"))
        shapes.append(bar(span.start, span.end, top, OWN, INK))
    y = top + BAR + 26
    for x, colour, words in ((MARGIN, OWN, "self time"), (MARGIN + 130, OTHERS, "time of what it calls")):
        shapes += [box(x, y - 13, 16, 16, colour, INK), text(x + 24, y, words, anchor="start")]
    calls = "; ".join(told(span, span.seconds) for span in inner)
    return drawing(WIDTH, y + 10, f"Bars of operations. {told(outer, own)}. It calls {calls}.", *shapes)


def told(span: Span, own: float) -> str:
    """A span's name and its times. own: its self time in seconds."""
    return f"{span.name}: total {1e6 * span.seconds:.0f} µs, self {1e6 * own:.0f} µs"
