"""Labs with their solutions, for benches that measure what students write. No bench of its own."""

from __future__ import annotations

from pathlib import Path

from autograde.labs.folder import Lab, find_lab
from autograde.making.build import build

ROOT = Path(__file__).resolve().parents[1]


def write_solved(lab: Lab, folder: Path) -> None:
    """Write all files of `lab`, with answers, into `folder`, as a student's who is done."""
    for name, file in build(lab).instructor.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.content)


def solved_notebook(lab: str, folder: Path) -> Path:
    """Write `lab`, with answers, into `folder`. Returns its notebook's path, for
    `course.batch.torchrun_rank.definitions`."""
    write_solved(find_lab(ROOT, lab), folder)
    return folder / f"{lab}.ipynb"
