"""How much of a lab is handed in at most: the same wherever it is handed in and graded."""

from __future__ import annotations

from pathlib import Path

MB = 10**6  # bytes
MAX_NOTEBOOK = 32 * MB  # bytes of a notebook, with the pictures in its outputs
MAX_FOLDER = 100 * MB  # bytes of all files of a lab, and so of each of them
MAX_PICTURE = 20 * MB  # bytes of a picture beside a notebook; characters of all that are in an answer, in base64
MAX_PICTURES = 100 * MB  # characters of all pictures that a page of feedback shows of a text
NOTEBOOKS = (
    ".ipynb",
    ".ipynb.json",
    ".ipynb.txt",
)  # what notebooks' names end in, in small letters; some browsers add to it


def megabytes(size: int) -> str:
    """A number of bytes in MB, as "32 MB" or "32.1 MB": rounded up, so that what exceeds a limit looks so."""
    tenths = -(-size * 10 // MB)
    return f"{tenths / 10:,.1f}".removesuffix(".0") + " MB"


def notebook_too_large(notebook: Path, limit: int = MAX_NOTEBOOK) -> str:
    """Why a notebook is too large to be handed in and graded, and what to do; empty if it is not, or is not there."""
    try:
        size = notebook.stat().st_size
    except OSError:
        return ""
    if size <= limit:
        return ""
    return (
        f"{notebook.name} has {megabytes(size)}, and a notebook that is handed in has {megabytes(limit)} at most. In "
        "JupyterLab choose Edit, Clear Outputs of All Cells, and save it."
    )
