"""A notebook's own modules are found in its folder, also by a torchrun that was started elsewhere."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import nbformat

CELLS = """from course.lab.figures.shares import HALF
def batch_training(comm, epochs, checkpoint):
    from course.lab.models.halves import halved
    return halved(HALF)
"""
PROGRAM = """import sys
from pathlib import Path
from course.batch.torchrun_rank import definitions
print(definitions(Path(sys.argv[1]))["batch_training"](None, 1, ""))
"""


def test_torchrun_finds_a_labs_own_modules_from_any_folder(tmp_path: Path) -> None:
    for name, text in {"figures/shares": "HALF = 0.5", "models/halves": "def halved(x):\n    return x / 2"}.items():
        path = tmp_path / "lab" / f"{name}.py"
        path.parent.mkdir(parents=True)
        path.write_text(text + "\n")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CELLS)])
    nbformat.write(notebook, tmp_path / "lab" / "lab.ipynb")
    command = [sys.executable, "-c", PROGRAM, "lab/lab.ipynb"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "0.25\n", done.stderr
