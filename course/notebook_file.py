"""Notebooks as files: the one way in which labs, lectures and runs are made into cells and bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import nbformat
from nbformat import NotebookNode

KERNEL = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def new_notebook() -> NotebookNode:
    """A notebook for Python, without cells."""
    return nbformat.v4.new_notebook(metadata=KERNEL)


def new_cell(kind: str, source: str, name: str, metadata: Mapping[str, Any]) -> NotebookNode:
    """A cell. kind: "code" or "markdown". name: its id."""
    new = nbformat.v4.new_code_cell if kind == "code" else nbformat.v4.new_markdown_cell
    return new(source, id=name, metadata=dict(metadata))


def as_bytes(notebook: Mapping[str, Any]) -> bytes:
    """The bytes of a notebook's file, as nbconvert writes them: the same for the same notebook."""
    return (nbformat.writes(nbformat.from_dict(notebook)).rstrip("\n") + "\n").encode()
