"""One step of training by hand: two houses, three weights, numbers forwards, gradients backwards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from course.figures.drawing import arrow, box, svg, text
from course.figures.player import Film, Frame
from course.figures.style import COLOURS
from course.figures.theme_colours import FAINT, INK

HOUSES = ((6.0, 2.0, 15.0), (5.0, 2.0, 12.0))  # bedrooms, bathrooms, price
START = (0.5, 0.25, 0.0)
RATE = 1e-3
NAMES = ("w1", "w2", "b")
WEIGHT, NUMBER, GRADIENT = COLOURS[2], COLOURS[0], COLOURS[1]
WIDE, HIGH = 96, 40
PLACES: Mapping[str, tuple[float, float]] = {
    "x1": (10, 20), "w1": (10, 84), "x2": (10, 158), "w2": (10, 222), "b": (10, 296),
    "x1 w1": (200, 52), "x2 w2": (200, 166), "price": (370, 108), "loss": (560, 108),
}  # fmt: skip
LINKS = (
    "x1 > x1 w1",
    "w1 > x1 w1",
    "x2 > x2 w2",
    "w2 > x2 w2",
    "x1 w1 > price",
    "x2 w2 > price",
    "price > loss",
)


@dataclass
class State:
    """What is in the boxes. gradients: of the weights, by name, as far as they are there."""

    weights: list[float]
    shown: dict[str, float] = field(default_factory=dict)
    gradients: dict[str, float] = field(default_factory=dict)


def forward(weights: list[float], house: tuple[float, float, float]) -> dict[str, float]:
    """All numbers of the graph."""
    (w1, w2, b), (x1, x2, target) = weights, house
    price = x1 * w1 + x2 * w2 + b
    return {"x1": x1, "x2": x2, "x1 w1": x1 * w1, "x2 w2": x2 * w2, "price": price, "loss": (price - target) ** 2}


def backward(weights: list[float], house: tuple[float, float, float]) -> list[float]:
    """The gradient of the loss by w1, w2 and b."""
    error = 2 * (forward(weights, house)["price"] - house[2])
    return [error * house[0], error * house[1], error]


def picture(state: State, target: float, alt: str) -> str:
    """The graph with what is known of it."""
    values = {**dict(zip(NAMES, state.weights, strict=True)), **state.shown}
    shapes = []
    for link in LINKS:
        source, end = link.split(" > ")
        (a, b), (c, d) = PLACES[source], PLACES[end]
        shapes.append(arrow((a + WIDE, b + HIGH / 2), (c - 2, d + HIGH / 2), FAINT, 1.5))
    shapes.append(arrow((PLACES["b"][0] + WIDE, PLACES["b"][1] + HIGH / 2), (418, 152), FAINT, 1.5))
    for name, (x, y) in PLACES.items():
        edge = WEIGHT if name in NAMES else FAINT
        shapes.append(box(x, y, WIDE, HIGH, edge=edge, thickness=3 if name in NAMES else 1.5, corner=5))
        shapes.append(text(x + 2, y - 5, name, 13, "start"))
        if name in values:
            shapes.append(text(x + WIDE / 2, y + 27, f"{values[name]:.5g}", 18, bold=name in NAMES))
        if name in state.gradients:
            shapes.append(box(x + WIDE - 66, y + 44, 66, 22, GRADIENT, corner=4))
            shapes.append(text(x + WIDE - 33, y + 60, f"{state.gradients[name]:+.4g}", 14, bold=True, ink="#111111"))
    shapes.append(text(608, 172, f"wanted: {target:g}", 14, ink=INK))
    return svg(680, 366, alt, *shapes)


def houses_film(accumulate: bool = False) -> Film:
    """The film. accumulate: whether to add up the gradients of both houses, and then to step once."""
    weights, total, frames = [*START], [0.0, 0.0, 0.0], []

    def frame(words: str, house: tuple, shown: dict | None = None, gradients: list[float] | None = None) -> None:
        named = dict(zip(NAMES, gradients, strict=True)) if gradients else {}
        state = State(weights, shown or {"x1": house[0], "x2": house[1]}, named)
        frames.append(Frame(picture(state, house[2], words), words))

    for number, house in enumerate(HOUSES, 1):
        kept = total if any(total) else None
        who = f"House {number}"
        frame(f"{who}: {house[0]:g} bedrooms, {house[1]:g} bathrooms; its price is {house[2]:g}.", house, None, kept)
        shown, own = forward(weights, house), backward(weights, house)
        frame(f"{who}, forward: the guess is {shown['price']:.4g}, the loss {shown['loss']:.5g}.", house, shown, kept)
        total = [before + new for before, new in zip(total, own, strict=True)]
        added = " It is added to that of the first house." if accumulate and number > 1 else ""
        listed = ", ".join(f"{part:.4g}" for part in own)
        frame(f"{who}, backward: the gradient is ({listed}).{added}", house, shown, total)
        if accumulate and number < len(HOUSES):
            continue
        weights = [weight - RATE * part for weight, part in zip(weights, total, strict=True)]
        listed = ", ".join(f"{weight:.3f}" for weight in weights)
        frame(f"Step: each weight moves by -0.001 times its gradient, to ({listed}).", house, shown, total)
        total = [0.0, 0.0, 0.0]
        frame(f"Zero: the gradients are thrown away. The weights stay ({listed}).", house)
    how = "gradients of both are added up, then one step" if accumulate else "a step after each"
    return Film(f"two houses, {how}", frames)
