"""Files that are there whole, or not at all."""

from __future__ import annotations

import os
import uuid
from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that a reader finds the old one or the new one, never a part, also where two write it at once.

    Raises OSError; then the old one is still there.
    """
    new = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        new.write_bytes(content)
        os.replace(new, path)
    finally:
        new.unlink(missing_ok=True)
