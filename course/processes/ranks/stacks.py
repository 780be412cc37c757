"""Where ranks stand, as they write it into their files when they are asked by a signal: faulthandler's text."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path


def new_stacks(
    paths: Mapping[int, Path],
    ask: Callable[[Iterable[int]], set[int]],
    lives: Callable[[int], bool],
    all_ended: Callable[[], bool],
    patience: float,
) -> dict[int, str]:
    """What ranks that are asked now write into these files, empty for one that gives nothing within `patience` seconds;
    ranks that are gone are left out.

    ask: asks ranks, and returns which of them were there. lives: whether a rank does. all_ended: whether all are gone.
    """
    before = {member: path.stat().st_size for member, path in paths.items() if path.exists()}
    asked = ask(before)
    before = {member: size for member, size in before.items() if member in asked}
    end = time.monotonic() + patience
    while not all_ended() and time.monotonic() < end:
        if all(written(paths[member], size) for member, size in before.items() if lives(member)):
            break
        time.sleep(0.01)
    there = {member: paths[member].read_text()[size:] for member, size in before.items() if lives(member)}
    return {member: text for member, text in there.items() if text or not all_ended()}


def written(path: Path, size: int) -> bool:
    """Whether a stack is in this file, which had this size before: frame by frame, up to the one that its first line
    names; and of a deep one, as much as faulthandler writes."""
    text = path.read_text(errors="replace")
    return text[size:].endswith((text.partition("\n")[0] + "\n", "\n  ...\n"))
