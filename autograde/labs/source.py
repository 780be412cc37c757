"""Reads `lab.py`, the percent text of a lab's notebook, with jupytext.

# %% [markdown]                 a cell begins with a marker; this one is Markdown, in comments
# # 03 Pi on several ranks

# %% todo="partial_sum"         this one is code; what its marker says besides is for `lockstep build`
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

UP_TO_MARKDOWN = re.compile(r"(?ms).*?^# %% \[markdown\].*?(?=^# %%)")


@dataclass(frozen=True)
class SourceCell:
    """A cell of `lab.py`. kind: "code" or "markdown". marker: what its marker says, as {"todo": "partial_sum"}."""

    kind: str
    source: str
    marker: Mapping[str, Any]


def read_cells(path: Path) -> tuple[SourceCell, ...]:
    """The cells of the `lab.py` at `path`, in order. Raises OSError, UnicodeDecodeError."""
    return cells_in(path.read_text(encoding="utf-8"))


def first_text(path: Path) -> str:
    """The first Markdown cell of the `lab.py` at `path`; empty if there is none. What comes after it is not parsed, so
    that a list of all labs takes no second. Raises OSError, UnicodeDecodeError."""
    text = path.read_text(encoding="utf-8")
    beginning = UP_TO_MARKDOWN.match(text)
    cells = cells_in(beginning[0] if beginning else text)
    return next((cell.source for cell in cells if cell.kind == "markdown"), "")


@lru_cache(maxsize=64)
def cells_in(text: str) -> tuple[SourceCell, ...]:
    """The cells in a percent text, in order. Reading one takes a tenth of a second, so each is read once."""
    import jupytext  # only here: it takes half a second, and most commands read no lab.py

    return tuple(
        SourceCell(
            cell.cell_type,
            cell.source,
            MappingProxyType({key: value for key, value in cell.metadata.items() if key != "lines_to_next_cell"}),
        )
        for cell in jupytext.reads(text, fmt="py:percent").cells
    )
