"""The arrays that ranks bring."""

from __future__ import annotations

import numpy as np

from autograde.fixtures.drawn_arrays import drawn_array


def array_of(call: dict, rank: int) -> np.ndarray:
    """The array of a rank, by the call's arguments: seed, shape (or lengths, by rank), dtype; perhaps least and most,
    fractions (whose sum depends on the order in its last bits) and transposed."""
    shape = call["shape"] if "shape" in call else [call["lengths"][rank]]
    values = drawn_array(call["seed"], rank, shape, call["dtype"], call.get("least"), call.get("most"))
    if call.get("fractions") and call["dtype"] != "int64":
        values = np.asarray(values / 7, call["dtype"])
    return values.T if call.get("transposed") else values


def plain(call: dict) -> bool:
    """Whether MPI may keep a call's messages until they are received."""
    return not call["safe"]
