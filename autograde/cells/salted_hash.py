"""A `hash` that differs by rank, as Python's does by process: a world's ranks are forks of one, and share it."""

from __future__ import annotations

import builtins
import hashlib
from collections.abc import Callable
from typing import Any


def salted_hash(salt: str) -> Callable[[Any], int]:
    """A stand-in for Python's `hash`: the same for the same value and `salt`. As in Python, only text and what holds it
    is salted."""

    def hash(value: Any) -> int:
        if isinstance(value, (str, bytes)):
            digest = hashlib.sha256(f"{salt}:{value!r}".encode()).digest()
            return int.from_bytes(digest[:8], "big", signed=True)
        if type(value) in (tuple, frozenset):
            return builtins.hash(type(value)(map(hash, value)))
        return builtins.hash(value)

    return hash
