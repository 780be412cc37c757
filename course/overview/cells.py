"""A notebook's cells as they are in its file, and nbgrader's metadata of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")
Cell = dict[str, Any]  # with its metadata, and its source as one text
OWN_METADATA = "lockstep"  # of a notebook: what it says of its lab, and of which release it is


class NoNotebook(Exception):
    """A file is no notebook. The message says what is wrong with it, without its name."""


def read_notebook(raw: bytes) -> dict[str, Any]:
    """The notebook in the bytes of a file. Raises NoNotebook."""
    try:
        read = json.loads(raw)
        cells = [{"metadata": {}, **cell, "source": "".join(cell.get("source", ""))} for cell in read["cells"]]
        if not all(isinstance(cell["metadata"], dict) and isinstance(tag_of(cell), dict) for cell in cells):
            raise TypeError
        return {**read, "metadata": dict(read.get("metadata", {})), "cells": cells}
    except (ValueError, RecursionError) as error:  # no JSON, or not UTF-8
        raise NoNotebook("it is cut off or damaged") from error
    except (AttributeError, KeyError, TypeError) as error:
        raise NoNotebook("it is not a notebook of today's form") from error


def cells_of(notebook: Path) -> list[Cell]:
    """The cells of a notebook's file. Raises OSError and NoNotebook."""
    return read_notebook(notebook.read_bytes())["cells"]


def own_metadata(notebook: Mapping[str, Any]) -> dict[str, str]:
    """What a notebook's metadata say of its lab, as {"minutes": "90"}; what is no text is left out."""
    said = notebook["metadata"].get(OWN_METADATA)
    return {key: value for key, value in said.items() if isinstance(value, str)} if isinstance(said, dict) else {}


def tag_of(cell: Cell) -> dict[str, Any]:
    """nbgrader's metadata of a cell; empty if it has none."""
    return cell["metadata"].get("nbgrader", {})


def match(
    cells: Sequence[T], names: Collection[str], tag: Callable[[T], object], cell_id: Callable[[T], object]
) -> dict[str, list[T]]:
    """Which of a student's cells are the lab's, by the names of these: those with this `grade_id`, else those with this
    cell id and no other cell's `grade_id`. So grading finds them, and the correction of a lab.

    tag: the `grade_id` of a cell, which may be anything; cell_id: likewise.
    """
    known, matches = set(names), {}
    for name in names:
        tagged = [cell for cell in cells if tag(cell) == name]
        untagged = [cell for cell in cells if cell_id(cell) == name and not is_one_of(tag(cell), known)]
        matches[name] = tagged or untagged
    return matches


def is_one_of(value: object, known: Collection[str]) -> bool:
    """Whether `value`, which may be of any type, is one of `known`."""
    return isinstance(value, str) and value in known
