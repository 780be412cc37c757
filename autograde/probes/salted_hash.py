"""A `hash` that differs by rank, as Python's does by process: a world's ranks are forks of one, and share it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any


def salted_hash(salt: str) -> Callable[[Any], int]:
    """A stand-in for Python's `hash`: the same for the same value and `salt`."""

    def hash(value: Any) -> int:
        digest = hashlib.sha256(f"{salt}:{value!r}".encode()).digest()
        return int.from_bytes(digest[:8], "big", signed=True)

    return hash
