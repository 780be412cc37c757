"""Caps what a rank may print: a loop that prints would fill the notebook or the disk."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

MAX_OUTPUT = 1_000_000  # characters that one rank may print in one run


class TooMuchOutput(RuntimeError):
    """A rank printed more than MAX_OUTPUT characters."""


class LimitedStream:
    """A text stream that raises TooMuchOutput once `left` is used up.

    left: one number, the characters that may still be written; streams that are given the same list share it.
    """

    def __init__(self, stream: Any, left: list[int]) -> None:
        self._stream = stream
        self._left = left

    def write(self, text: str) -> int:
        """Write `text` if it fits."""
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
    """Within this block, printing more than MAX_OUTPUT characters raises TooMuchOutput."""
    left = [MAX_OUTPUT]
    with (
        mock.patch.object(sys, "stdout", LimitedStream(sys.stdout, left)),
        mock.patch.object(sys, "stderr", LimitedStream(sys.stderr, left)),
    ):
        yield
