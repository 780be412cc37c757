"""Small pictures as SVG in the text of a page: sharp at any size, and in the colours of the page's theme."""

from __future__ import annotations

import html
from dataclasses import dataclass
from math import hypot

from course.figures.theme_colours import INK

HEAD = 9.0  # length of an arrow's head


@dataclass(frozen=True)
class Drawing:
    """A picture that a notebook shows. alt: what it shows, in words. markup: SVG."""

    alt: str
    markup: str

    def _repr_mimebundle_(self, **kwargs: object) -> dict[str, str]:
        return {"text/html": self.markup, "text/plain": f"<{type(self).__name__}: {self.alt}>"}


def drawing(width: float, height: float, alt: str, *shapes: str) -> Drawing:
    """Like `svg`, as the value of a cell."""
    return Drawing(alt, svg(width, height, alt, *shapes))


def svg(width: float, height: float, alt: str, *shapes: str) -> str:
    """A picture of `shapes`, the later ones on top. alt: what it shows, for those who cannot see it."""
    head = f'<svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{html.escape(alt)}"'
    look = f"display: block; width: 100%; max-width: {width:g}px; height: auto; font-family: sans-serif"
    return f'{head} xmlns="http://www.w3.org/2000/svg" style="--drawn: {width:g}px; {look}">{"".join(shapes)}</svg>'


def text(
    x: float, y: float, words: str, size: float = 15, anchor: str = "middle", bold: bool = False, ink: str = INK
) -> str:
    """Words on the line y. anchor: which part of them is at x: "start", "middle" or "end"."""
    weight = ' font-weight="bold"' if bold else ""
    where = f'x="{x:g}" y="{y:g}" font-size="{size:g}" text-anchor="{anchor}"'
    return f'<text {where}{weight} fill="{ink}">{html.escape(words)}</text>'


def box(
    x: float,
    y: float,
    width: float,
    height: float,
    fill: str = "none",
    edge: str = "none",
    thickness: float = 1,
    corner: float = 0,
) -> str:
    """A rectangle from its upper left corner."""
    where = f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"'
    look = f'fill="{fill}"' + (f' stroke="{edge}" stroke-width="{thickness:g}"' if edge != "none" else "")
    return f'<rect {where} {look} rx="{corner:g}"/>' if corner else f"<rect {where} {look}/>"


def line(start: tuple[float, float], end: tuple[float, float], ink: str = INK, thickness: float = 2) -> str:
    """A straight line."""
    (a, b), (c, d) = start, end
    return f'<path d="M{a:g} {b:g}L{c:g} {d:g}" stroke="{ink}" stroke-width="{thickness:g}" fill="none"/>'


def arrow(start: tuple[float, float], end: tuple[float, float], ink: str = INK, thickness: float = 2) -> str:
    """A straight arrow."""
    length = hypot(end[0] - start[0], end[1] - start[1])
    if not length:
        return ""
    along = ((end[0] - start[0]) / length, (end[1] - start[1]) / length)
    return line(start, (end[0] - along[0] * HEAD / 2, end[1] - along[1] * HEAD / 2), ink, thickness) + head(
        end, along, ink
    )


def arc(start: tuple[float, float], end: tuple[float, float], height: float, ink: str = INK) -> str:
    """An arrow that bends upwards by `height` on its way."""
    middle = ((start[0] + end[0]) / 2, min(start[1], end[1]) - 2 * height)
    length = hypot(end[0] - middle[0], end[1] - middle[1])
    along = ((end[0] - middle[0]) / length, (end[1] - middle[1]) / length)
    stop = (end[0] - along[0] * HEAD / 2, end[1] - along[1] * HEAD / 2)
    curve = f"M{start[0]:g} {start[1]:g}Q{middle[0]:g} {middle[1]:g} {stop[0]:.1f} {stop[1]:.1f}"
    return f'<path d="{curve}" stroke="{ink}" stroke-width="2" fill="none"/>' + head(end, along, ink)


def head(tip: tuple[float, float], along: tuple[float, float], ink: str) -> str:
    """The head of an arrow. along: its direction, of length 1."""
    (x, y), (a, b) = tip, along
    left = (x - HEAD * a + HEAD / 2 * b, y - HEAD * b - HEAD / 2 * a)
    right = (x - HEAD * a - HEAD / 2 * b, y - HEAD * b + HEAD / 2 * a)
    return f'<path d="M{x:.1f} {y:.1f}L{left[0]:.1f} {left[1]:.1f}L{right[0]:.1f} {right[1]:.1f}Z" fill="{ink}"/>'
