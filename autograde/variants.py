"""What a lab's `variants.py` is made of: answers other than the solution, right ones and known mistakes.

A `variants.py` never leaves the instructor's side. It holds two dictionaries::

    RIGHT = {"mse_gradient": {"with_einsum": '''source of the whole cell'''}}
    WRONG = {"mse_gradient": {"sum_not_mean": Wrong("sum-not-mean", '''source of the whole cell''', known_from="...")}}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from textwrap import indent


@dataclass(frozen=True)
class Wrong:
    """A mistake that people really make.

    finding: key of the finding that it must get.
    source: source text of the whole cell.
    known_from: where it is known from: a link, or a name.
    """

    finding: str
    source: str
    known_from: str


def titled(bodies: str) -> dict[str, str]:
    """Each text in `bodies` by its title, the line above it, which begins with ``== ``."""
    parts = [part.partition("\n") for part in bodies.strip().removeprefix("== ").split("\n== ")]
    return {title: body.rstrip() + "\n" for title, _, body in parts}


def cells(head: str, bodies: str) -> dict[str, str]:
    """The source of a whole cell for each of `bodies`, by its title: that body, indented, below `head`."""
    return {title: head.lstrip() + indent(body, "    ") for title, body in titled(bodies).items()}


def mistakes(made: Mapping[str, str], sources: Mapping[str, str]) -> dict[str, Wrong]:
    """Wrong answers by name, of cells whose titles are ``name: finding, key of sources``."""
    found = {}
    for title, source in made.items():
        name, _, about = title.partition(": ")
        finding, _, known_from = about.partition(", ")
        found[name] = Wrong(finding, source, sources[known_from])
    return found
