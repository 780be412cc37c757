"""An end to what a rank prints, as a loop that prints fills a notebook, or a disk, sooner than anybody reads it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

MAX_OUTPUT = 1_000_000  # characters that one rank may print in one run


class TooMuchOutput(RuntimeError):
    """A rank printed more than anybody will read."""


class Counted:
    """A text stream that takes `left` characters, shared with its like, and then raises TooMuchOutput."""

    def __init__(self, stream: Any, left: list[int]) -> None:
        self._stream = stream
        self._left = left

    def write(self, text: str) -> int:
        """Write `text` if there is room for it."""
        if len(text) > self._left[0]:
            raise TooMuchOutput(f"A rank printed more than {MAX_OUTPUT:,} characters in one run.")
        self._left[0] -= len(text)
        return self._stream.write(text)

    def writelines(self, lines: Any) -> None:
        """Write each of `lines`."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def limited_output() -> Iterator[None]:
    """In this block, what is printed counts, and beyond MAX_OUTPUT characters printing raises TooMuchOutput."""
    left = [MAX_OUTPUT]
    with (
        mock.patch.object(sys, "stdout", Counted(sys.stdout, left)),
        mock.patch.object(sys, "stderr", Counted(sys.stderr, left)),
    ):
        yield
