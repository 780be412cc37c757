"""The arrays of `swap`, and the matrices of `chain`, drawn by a call's seed."""

from __future__ import annotations

import numpy as np

from autograde.fixtures.drawn_arrays import array_of


def array_of_rank(call: dict, rank: int) -> np.ndarray:
    """The array that a rank has; those of two partners are alike but for the numbers."""
    return array_of({**call["pairs"][rank // 2], "seed": call["seed"]}, rank)


def matrices(call: dict) -> dict[str, np.ndarray]:
    """B, C, E and F. Of whole numbers: in any order of adding up, the products are the same, and need float64."""
    draw = np.random.default_rng(call["seed"])
    p, q, r, s, t = call["sizes"]
    shapes = zip("BCEF", [(p, q), (q, r), (r, s), (s, t)], strict=True)
    return {name: draw.integers(-300, 300, shape, endpoint=True).astype(float) for name, shape in shapes}
