"""Tells whether a lab's folder is as it was handed in.

What counts is what a student would call a change: the text of cells, their order and attachments, and all other files
that are handed in. Running and saving a notebook changes outputs and metadata, and is no change.
"""

from __future__ import annotations

import hashlib
import json
import time
from pathlib import Path

from course.exchange.copying import Ignored, walk
from course.overview.cells import NoNotebook, cells_of, tag_of

CLOCK = 2 * 10**9  # nanoseconds: the coarsest times of files that file systems have


def nothing(_: str, __: list[str]) -> list[str]:
    """Leaves nothing out."""
    return []


class Digests:
    """Digests of what a lab's folder holds, or a copy of it, where a file is read again only once it has changed."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[tuple[int, int], str]] = {}

    def of_folder(self, folder: Path, ignored: Ignored = nothing) -> str:
        """A value that changes with what is handed in of a folder. Raises OSError.

        ignored: what is not, as for `shutil.copytree`.
        """
        known = {}
        for here, _, files in walk(folder, ignored, lambda *_: None):
            for path in (here / name for name in files if (here / name).is_file()):
                name = str(path.relative_to(folder))
                known[name] = self.of_file(path, name)
        return digest(json.dumps(known, sort_keys=True).encode())

    def of_file(self, path: Path, name: str) -> str:
        """The same, of one file. name: its path in the folder. Raises OSError."""
        found = path.stat()
        state = found.st_size, found.st_mtime_ns
        before, value = self._known.get(name, (None, ""))
        if before != state:
            value = content_of_file(path)
            if time.time_ns() - found.st_mtime_ns > CLOCK:  # else the next save may have the same time
                self._known[name] = state, value
        return value


def content_of_file(path: Path) -> str:
    """The digest of one file's content. Raises OSError."""
    if path.suffix == ".ipynb":
        try:
            cells = [
                [
                    cell.get("cell_type"),
                    cell["source"],
                    cell.get("attachments"),
                    cell.get("id"),
                    tag_of(cell).get("grade_id"),
                ]
                for cell in cells_of(path)
            ]
            return digest(json.dumps(cells, sort_keys=True).encode())
        except NoNotebook:
            pass  # then it is a file like others
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest(content: bytes) -> str:
    """Its SHA-256."""
    return hashlib.sha256(content).hexdigest()
