"""Contrast of two colours, as WCAG 2 defines it: 1 for the same, 21 for black and white. Text needs 4.5.

https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio
"""

from __future__ import annotations

from matplotlib.colors import to_hex, to_rgb

TEXT = 4.5  # the least contrast of text to what it stands on
WHITE, BLACK = "#FFFFFF", "#111111"
STEPS = 20  # between a colour and the ink


def luminance(colour: str) -> float:
    """The relative luminance of a colour, from 0 for black to 1 for white."""
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in to_rgb(colour)]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    """The contrast of two colours, in either order."""
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def ink_on(fill: str) -> str:
    """White or black, whichever can be read better on `fill`."""
    return max(WHITE, BLACK, key=lambda ink: contrast(ink, fill))


def legible(colour: str, paper: str, ink: str) -> str:
    """`colour`, mixed with as little of `ink` as makes it legible on `paper`."""
    mixtures = (
        to_hex([own + (mixed - own) * step / STEPS for own, mixed in zip(to_rgb(colour), to_rgb(ink), strict=True)])
        for step in range(STEPS + 1)
    )
    return next((mixture for mixture in mixtures if contrast(mixture, paper) >= TEXT), ink)
