"""What a lab's `variants.py` is made of: answers other than the solution, right ones and known mistakes.

A `variants.py` never leaves the instructor's side. It holds two dictionaries::

    RIGHT = {"mse_gradient": {"with_einsum": '''source of the whole cell'''}}
    WRONG = {"mse_gradient": {"sum_not_mean": Wrong("sum-not-mean", '''source of the whole cell''', known_from="...")}}
"""

from __future__ import annotations

from dataclasses import dataclass


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
