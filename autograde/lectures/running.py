"""Runs a lecture on real ranks, cell by cell."""

from __future__ import annotations

import os
import re
from pathlib import Path
from tempfile import TemporaryDirectory

from nbclient import NotebookClient
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

from autograde.lectures.notebooks import Lecture, line_of, read
from course.claims import STRICT
from course.processes.kernels import over_files

SECONDS = 120  # that a cell may take, on a machine that does other things too
WIDGET = "application/vnd.jupyter.widget-view+json"
LINE = re.compile(r"Cell In\[\d+\], line (\d+)")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class LectureFailed(Exception):
    """A cell of a lecture failed. notebook: what was run of it, with the outputs so far."""

    def __init__(self, message: str, notebook: NotebookNode) -> None:
        super().__init__(message)
        self.notebook = notebook


def run(lecture: Lecture) -> NotebookNode:
    """A lecture with the outputs of its cells. Raises LectureFailed, which names the line of its text."""
    with TemporaryDirectory(prefix="lecture-") as folder:
        return run_in(Path(folder), lecture)


def run_in(folder: Path, lecture: Lecture) -> NotebookNode:
    """Like `run`. folder: for the kernel's sockets."""
    notebook = read(lecture)
    settings = {"timeout": SECONDS, "allow_errors": True, "config": over_files(folder)}
    client = NotebookClient(notebook, kernel_name="python3", **settings)
    client.resources["metadata"] = {"path": str(Path(lecture.source).parent)}
    number = -1
    with client.setup_kernel(env={**os.environ, STRICT: "1"}):
        for index, cell in enumerate(notebook.cells):
            if cell.cell_type != "code":
                continue
            number += 1
            try:
                client.execute_cell(cell, index)
            except (CellTimeoutError, DeadKernelError) as error:
                first = str(error).strip().splitlines()[0]
                raise LectureFailed(f"{where(lecture, number, 1)}: {first}", notebook) from error
            for output in cell.outputs:
                if output.output_type == "error":
                    trace = COLOUR.sub("", "\n".join(output.traceback))
                    line = LINE.search(trace)
                    place = where(lecture, number, int(line[1]) if line else 1)
                    told = output.evalue.splitlines()[0] if output.evalue else "no message"
                    raise LectureFailed(f"{place}: {output.ename}: {told}", notebook)
            cell.outputs = [output for output in cell.outputs if WIDGET not in output.get("data", {})]
    notebook.metadata.pop("widgets", None)
    return notebook


def where(lecture: Lecture, cell: int, line: int) -> str:
    """A place in a lecture's text, as editors open it."""
    return f"{lecture.source.name}:{line_of(lecture, cell, line)}"
