"""A lab with its solutions, as a student has it who is done: for benches, and tests of whole notebooks."""

from __future__ import annotations

from pathlib import Path

from autograde.labs.folder import Lab, find_lab
from autograde.labs.places import REPOSITORY
from autograde.making.build import build, write_file


def write_solved(lab: Lab, folder: Path) -> None:
    """Write all files of `lab`, with answers, into `folder`. Raises LabError."""
    for name, file in build(lab).instructor.items():
        write_file(folder / name, file)


def solved_notebook(lab: str, folder: Path) -> Path:
    """Write a lab of this clone, with answers, into `folder`. Returns its notebook's path, for
    `course.batch.torchrun_rank.definitions`. Raises LabError."""
    found = find_lab(REPOSITORY, lab)
    write_solved(found, folder)
    return folder / found.notebook
