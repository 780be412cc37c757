"""Says which cells of a lecture's notebook are slides, as jupyterlab-rise shows them, and cuts its texts accordingly.

A heading and the claim under it are a slide. A box, a question, a formula, a cell of code with what it gives: each is
one below it, so that none runs off the screen. The rest of the text is for the speaker.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from nbformat import NotebookNode

from course.notebook_file import new_cell

LOOK = {"theme": "white", "scroll": True}  # the only theme that asks no other host
PARAGRAPHS = re.compile(r"\n{2,}")
HEADING, BOX = re.compile(r"#{1,2} "), re.compile(r"> |<details|\||\$\$|!\[|```")
FENCE = re.compile(r"^(```|\$\$|<details)")


def with_slides(notebook: NotebookNode) -> NotebookNode:
    """The notebook, each cell with its type of slide; a text is cut where its type changes."""
    cells = []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cells.append(typed(cell, "skip" if "remove-cell" in cell.metadata.get("tags", []) else "subslide"))
            continue
        for number, (kind, text) in enumerate(parts(cell.source)):
            part = new_cell("markdown", text, f"{cell.id}-{number}" if number else cell.id, cell.metadata)
            cells.append(typed(part, kind))
    notebook.cells = cells
    notebook.metadata["rise"] = LOOK
    return notebook


def typed(cell: NotebookNode, kind: str) -> NotebookNode:
    """A cell with a type of slide."""
    cell.metadata["slideshow"] = {"slide_type": kind}
    return cell


def parts(text: str) -> Iterator[tuple[str, str]]:
    """The parts of a text, each with its type of slide: headings with their claims, boxes, and what is said besides."""
    kind, part = "", []
    for block in whole(PARAGRAPHS.split(text.strip("\n"))):
        own = "slide" if HEADING.match(block) else "subslide" if BOX.match(block) else "notes"
        if own == "notes" and (kind == "notes" or (kind == "slide" and len(part) == 1)):  # the latter is a claim
            part.append(block)
        else:
            if part:
                yield kind, "\n\n".join(part)
            kind, part = own, [block]
    if part:
        yield kind, "\n\n".join(part)


def whole(paragraphs: list[str]) -> list[str]:
    """Paragraphs of which those that belong to one listing, formula or fold are put together again."""
    blocks: list[str] = []
    end = ""
    for paragraph in paragraphs:
        blocks[len(blocks) - bool(end) :] = [f"{blocks[-1]}\n\n{paragraph}" if end else paragraph]
        for line in paragraph.splitlines():
            if end and line.strip().startswith(end):
                end = ""
            elif not end and (fence := FENCE.match(line)):
                one_line = line.count("$$") > 1
                end = "" if one_line else {"<details": "</details"}.get(fence[1], fence[1])
    return blocks
