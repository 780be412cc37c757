"""The progress bar of a world whose ranks are starting."""

from __future__ import annotations

import sys

from tqdm import tqdm


def counted(size: int, kind: str = "") -> str:
    """``4 ranks``, or ``4 new ranks`` with the kind ``"new "``."""
    return f"{size} {kind}rank{'s' if size > 1 else ''}"


def ranks_bar(doing: str, size: int, shown: bool) -> tqdm:
    """A progress bar that counts ranks, and disappears at its end. doing: e.g. "Starting"."""
    return tqdm(
        total=size,
        desc=f"{doing} {counted(size, 'MPI ')}",
        bar_format="{desc}: {bar:20} {n_fmt}/{total_fmt} ready, {elapsed}",
        mininterval=0.5,
        disable=not shown,
        file=sys.stdout,
        leave=False,
    )
