"""Tells whether a lab's folder is as it was handed in.

What counts is what a student would call a change: the text of cells, their order and attachments, and all other files
that are handed in. Running and saving a notebook changes outputs and metadata, and is no change.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from course.exchange.copying import Ignored, taken
from course.overview.cells import NoNotebook, cells_of, tag_of


def nothing(_: str, __: list[str]) -> list[str]:
    """Leaves nothing out."""
    return []


def content_of(folder: Path, ignored: Ignored = nothing) -> str:
    """A value that changes with what is handed in of a folder. Raises OSError.

    ignored: what is not, as for `shutil.copytree`.
    """
    known = {}
    for here, _, files in taken(folder, ignored, lambda *_: None):
        for path in (here / name for name in files if (here / name).is_file()):
            known[str(path.relative_to(folder))] = content_of_file(path)
    return digest(json.dumps(known, sort_keys=True).encode())


def content_of_file(path: Path) -> str:
    """The same, of one file."""
    if path.suffix == ".ipynb":
        try:
            told = [
                [
                    cell.get("cell_type"),
                    cell["source"],
                    cell.get("attachments"),
                    cell.get("id"),
                    tag_of(cell).get("grade_id"),
                ]
                for cell in cells_of(path)
            ]
            return digest(json.dumps(told, sort_keys=True).encode())
        except (NoNotebook, AttributeError, KeyError, TypeError):
            pass  # then it is a file like others
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest(content: bytes) -> str:
    """Its SHA-256."""
    return hashlib.sha256(content).hexdigest()
