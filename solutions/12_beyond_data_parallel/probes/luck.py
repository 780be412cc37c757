"""What torch says of a call for which it knows no gradient."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import torch

LUCK = "autograd kernel was not registered"  # in torch's warning


@contextmanager
def by_luck() -> Iterator[list[bool]]:
    """Gives a list, in which stands after the block whether torch warned in it that it knows no gradient for a
    call."""
    warned: list[bool] = []
    torch.set_warn_always(True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield warned
    warned.append(any(LUCK in str(each.message) for each in caught))
