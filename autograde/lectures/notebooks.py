"""Makes a lecture's notebook from its text.

    course/lectures/02_ranks.md --> course/lectures/02_ranks.ipynb    no outputs; committed, and compared

The text is a MyST text notebook: `{code-cell}` runs, other code is a listing. A box of it,

    :::{admonition} Red pen
    ...
    :::

is a quotation in the notebook, as JupyterLab does not know boxes; on the site it stays a box. The notebook can be shown
as slides, too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import jupytext
from nbformat import NotebookNode

from autograde.lectures.slides import with_slides
from course.notebook_file import as_bytes, new_cell, new_notebook

FOLDER = Path("course") / "lectures"
FOLDED = {"hide-input", "remove-cell"}  # the second is for cells that only check the numbers in the text
BOX = re.compile(r"^:::\{admonition\} (?P<title>.+)\n(?:^:class:.*\n)?(?P<text>(?:.*\n)*?)^:::$", re.MULTILINE)
CODE_CELL = re.compile(r"^```\{code-cell\}")


@dataclass(frozen=True)
class Lecture:
    """One lecture. source: its text."""

    source: Path

    @property
    def name(self) -> str:
        """As its file is called."""
        return self.source.stem

    @property
    def notebook(self) -> Path:
        """The notebook that is made from it."""
        return self.source.with_suffix(".ipynb")

    @property
    def alone(self) -> bool:
        """Whether it draws times, in which others that run meanwhile would be seen: `alone: true` in its head."""
        return bool(jupytext.read(self.source, fmt="md:myst").metadata.get("alone"))


def find_lectures(root: Path) -> list[Lecture]:
    """The lectures of a course, in their order. There may be none."""
    return [Lecture(path) for path in sorted((root / FOLDER).glob("[0-9]*_*.md"))]


def read(lecture: Lecture) -> NotebookNode:
    """The notebook of a lecture, with its boxes as they are written. Cell ids are derived."""
    notebook = new_notebook()
    for number, cell in enumerate(jupytext.read(lecture.source, fmt="md:myst").cells, 1):
        metadata = shown(cell.metadata.get("tags", []))
        notebook.cells.append(new_cell(cell.cell_type, cell.source, f"cell-{number}", metadata))
    return notebook


def shown(tags: list[str]) -> dict:
    """A cell's metadata from its tags. What the site folds or leaves out, JupyterLab folds."""
    folded = {"jupyter": {"source_hidden": True}} if {*tags} & FOLDED else {}
    return {"tags": list(tags), **folded} if tags else {}


def quoted(box: re.Match) -> str:
    """A box as a quotation."""
    lines = [f"**{box['title']}**", "", *box["text"].strip().splitlines()]
    return "\n".join(f"> {line}".rstrip() for line in lines)


def for_jupyter(lecture: Lecture) -> bytes:
    """The file of a lecture's notebook."""
    notebook = read(lecture)
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = BOX.sub(quoted, cell.source)
    return as_bytes(with_slides(notebook))


def write(lecture: Lecture) -> None:
    """Write a lecture's notebook, if it is not what its text makes."""
    content = for_jupyter(lecture)
    if not lecture.notebook.is_file() or lecture.notebook.read_bytes() != content:
        lecture.notebook.write_bytes(content)


def differences(root: Path) -> list[str]:
    """One line for each notebook that is missing, is not what its text makes, or has no text."""
    lectures, lines = find_lectures(root), []
    for lecture in lectures:
        name = lecture.notebook.relative_to(root).as_posix()
        if not lecture.notebook.is_file():
            lines.append(f"{name} is missing; run `lockstep build`")
        elif lecture.notebook.read_bytes() != for_jupyter(lecture):
            lines.append(f"{name} is not what its source makes; run `lockstep build`")
    for path in sorted((root / FOLDER).glob("*.ipynb")):
        if path not in [lecture.notebook for lecture in lectures]:
            lines.append(f"{path.relative_to(root).as_posix()} is made from no text; if it is left over, delete it")
    return lines


def line_of(lecture: Lecture, cell: int, line: int) -> int:
    """The line of a lecture's text, from 1, of a line of a code cell. cell: among these, from 0; line: from 1."""
    lines = lecture.source.read_text(encoding="utf-8").splitlines()
    start = [number for number, text in enumerate(lines) if CODE_CELL.match(text)][cell] + 1
    while lines[start].startswith(":") or not lines[start].strip():
        start += 1
    return start + line
