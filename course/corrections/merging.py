"""A student's notebook on a corrected lab: the new text, with all that the student has written in its place.

- Answers stay. Where their own text was corrected, such as a TODO's docstring, the correction is put into them; where
  the student has changed the same lines, the answer stays as it is, and the corrected text stands in a cell below it.
- Cells that the student added stay behind the cell that they stood behind.
- What the student changed elsewhere stays where the lab's own text is as it was. What cannot stay is named; it is in
  the copy of the old notebook.
- Outputs stay as long as they would be the same: up to the first cell of code that was corrected, and for a check as
  long as that is the same.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from course.corrections.cells import (
    is_answer,
    is_untouched,
    name_of,
    same_code,
    successors,
    todos,
    with_changes,
)
from course.overview.cells import Cell, match, tag_of

LABS_OWN = ("nbgrader", "editable", "deletable", "tags", "jupyter")  # metadata that the lab sets


@dataclass
class MergeResult:
    """The new notebook. lost: what the student wrote that is not in it; beside: where the corrected text of an answer
    stands below the student's; both in words."""

    notebook: dict[str, Any]
    lost: list[str] = field(default_factory=list)
    beside: list[str] = field(default_factory=list)


@dataclass
class Origin:
    """Where a student's cells come from. of: the student's cell for each of the old text. added: the student's own
    cells, by the old cell that they stand behind, -1 at the top."""

    of: dict[int, Cell] = field(default_factory=dict)
    added: dict[int, list[Cell]] = field(default_factory=dict)


def merge(
    old: Sequence[Cell] | None,
    mine: dict[str, Any],
    new: dict[str, Any],
    stale: Collection[str] = (),
    all_stale: bool = False,
) -> MergeResult:
    """Put what is in the notebook `mine` into a copy of `new`.

    old: the cells that the student began with; None if they are not known. stale: names of cells whose outputs do not
    hold, as files of the lab differ; all_stale: no output does.
    """
    if old is None:
        old = assumed(mine["cells"], new["cells"])
    origin, next_of = origins(old, mine["cells"]), successors(old, new["cells"])
    before = {after: index for index, after in next_of.items()}
    own = following(origin.added, next_of, len(old))
    metadata = mine["metadata"] | {"lockstep": new["metadata"].get("lockstep", {})}
    merged = MergeResult({**new, "metadata": metadata, "cells": []})
    names = todos([*new["cells"]])
    missing = behind_which_code_is_missing(old, next_of)
    rerun, used = all_stale or -1 in missing, {cell.get("id") for cell in new["cells"]}
    place(merged, own.get(-1, []), rerun, used)
    for index, cell in enumerate(new["cells"]):
        begun = before.get(index)
        base, written = (None, None) if begun is None else (old[begun], origin.of.get(begun))
        result, below = settled(base, written, cell, called(cell, names), merged)
        if cell["cell_type"] == "code":
            given = not is_answer(cell)
            rerun = rerun or (given and (base is None or not same_code(base["source"], cell["source"])))
            anew = name_of(cell) in stale or points(base) != points(cell)
            if written is not None and not rerun and not anew and same_code(written["source"], result["source"]):
                result |= {key: written[key] for key in ("outputs", "execution_count") if key in written}
        merged.notebook["cells"] += [result, *below]
        rerun = rerun or index in missing
        place(merged, own.get(index, []), rerun, used)
    gone(old, origin, next_of, merged)
    return merged


def origins(old: Sequence[Cell], mine: Sequence[Cell]) -> Origin:
    """Where the student's cells come from: by nbgrader's ids, else by their own, else by their text."""
    found, claimed = Origin(), dict[int, int]()
    numbers = range(len(mine))
    names = [str(tag_of(cell).get("grade_id") or cell.get("id") or "") for cell in old]
    known = {*filter(None, names)}
    own = match(numbers, known, lambda n: tag_of(mine[n]).get("grade_id"), lambda n: mine[n].get("id"))
    for index, cell in enumerate(old):
        copies = [number for number in own.get(names[index], ()) if number not in claimed]
        claim = [number for number in copies if mine[number].get("id") == cell.get("id")] or copies
        if not claim:  # notebooks of an older form have no ids
            rest = [number for number in numbers if number not in claimed and mine[number].get("id") is None]
            claim = [number for number in rest if mine[number]["source"].strip() == cell["source"].strip()]
        if claim:
            claimed[claim[0]] = index
    behind = -1
    for number, cell in enumerate(mine):
        if number in claimed:
            behind = claimed[number]
            found.of[behind] = cell
        else:
            found.added.setdefault(behind, []).append(cell)
    return found


def assumed(mine: Sequence[Cell], new: Sequence[Cell]) -> list[Cell]:
    """The old text as far as a notebook tells: the cells that nbgrader has tagged, or whose ids are made from the names
    of the lab's. Of an answer that was written nothing else is known."""
    names = {"start", *filter(None, map(name_of, [*mine, *new]))}
    labs_own = [cell for cell in mine if tag_of(cell) or str(cell.get("id")).rpartition("-")[0] in names]
    return [cell if not is_answer(cell) or is_untouched(cell) else {**cell, "source": ""} for cell in labs_own]


def following(added: dict[int, list[Cell]], next_of: dict[int, int], count: int) -> dict[int, list[Cell]]:
    """The student's own cells by the new cell that they stand behind."""
    found: dict[int, list[Cell]] = {}
    behind = -1
    for index in range(-1, count):
        behind = next_of.get(index, behind)
        found.setdefault(behind, []).extend(added.get(index, []))
    return found


def behind_which_code_is_missing(old: Sequence[Cell], next_of: dict[int, int]) -> set[int]:
    """The new cells behind which code of the old text is missing, so that what follows is to be run; -1: the top."""
    found, behind = set(), -1
    for index, cell in enumerate(old):
        if index in next_of:
            behind = next_of[index]
        elif cell.get("cell_type") == "code" and not tag_of(cell).get("grade"):
            found.add(behind)
    return found


def settled(
    base: Cell | None, written: Cell | None, cell: Cell, what: str, merged: MergeResult
) -> tuple[Cell, list[Cell]]:
    """A cell of the new text with what the student has written into it, and what stands below it."""
    result = {**cell, "metadata": dict(cell["metadata"])}
    if written is None:
        return result, []
    result["metadata"] |= {key: value for key, value in written["metadata"].items() if key not in LABS_OWN}
    if tag_of(cell).get("locked"):
        if written["source"].strip() not in (base["source"].strip(), cell["source"].strip()):
            merged.lost.append(f"what you changed in {what}")
        return result, []
    text = with_changes(base["source"], written["source"], cell["source"])
    if is_answer(cell) and "attachments" in written:
        result["attachments"] = written["attachments"]
    if text is not None:
        result["source"] = text
        return result, []
    if not is_answer(cell):
        merged.lost.append(f"what you changed in {what}")
        return result, []
    result["source"] = written["source"]
    if tag_of(written).get("checksum") == tag_of(cell).get("checksum"):
        return result, []
    merged.beside.append(what)
    return result, [note(cell, what)]


def note(cell: Cell, what: str) -> Cell:
    """A cell of text with the corrected text of an answer, where the student has changed the same lines."""
    text = f"```python\n{cell['source']}\n```" if cell["cell_type"] == "code" else cell["source"]
    return {
        "cell_type": "markdown",
        "id": secrets.token_hex(4),
        "metadata": {},
        "source": f"*The lab was corrected in lines of {what} that you have changed. Yours stand above; the corrected "
        f"text is:*\n\n{text}",
    }


def place(merged: MergeResult, cells: Sequence[Cell], rerun: bool, used: set[Any]) -> None:
    """Add the student's own cells, each with an id that no other cell has."""
    for cell in cells:
        if cell.get("id") is None or cell["id"] in used:
            cell = {**cell, "id": secrets.token_hex(4)}
        used.add(cell["id"])
        if rerun and cell.get("cell_type") == "code":
            cell = {**cell, "outputs": [], "execution_count": None}
        merged.notebook["cells"].append(cell)


def gone(old: Sequence[Cell], origin: Origin, next_of: dict[int, int], merged: MergeResult) -> None:
    """Name what the student wrote into cells that the new text does not have."""
    names = todos(old)
    for index, cell in enumerate(old):
        written = origin.of.get(index)
        if index not in next_of and written is not None and written["source"].strip() != cell["source"].strip():
            merged.lost.append(f"what you wrote into {called(cell, names)}, which the lab does not have any more")


def called(cell: Cell, names: dict[str, int]) -> str:
    """What a student is told of a cell."""
    if name := name_of(cell):
        return f"TODO {names[name]}, `{name}`" if name in names else f"`{name}`"
    line = next((line.strip("#*_ ") for line in cell["source"].splitlines() if line.strip("#*_ ")), "")
    return f"the cell that begins with “{line[:40]}{'…' if len(line) > 40 else ''}”"


def points(cell: Cell | None) -> object:
    """How many points a check's cell counts."""
    return tag_of(cell).get("points") if cell else None
