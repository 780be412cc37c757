"""Whether files have been written to, without reading them."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path


def state_of(paths: Iterable[Path]) -> str:
    """A value that changes when one of these files is written to, replaced, or gets other permissions, and when there
    are others. Folders, and what Python compiles, do not count."""
    known = sha256()
    for path in paths:
        if path.is_file() and "__pycache__" not in path.parts:
            found = path.stat()
            known.update(
                f"{path}\0{found.st_mode}\0{found.st_size}\0{found.st_mtime_ns}\0{found.st_ctime_ns}\0".encode()
            )
    return known.hexdigest()
