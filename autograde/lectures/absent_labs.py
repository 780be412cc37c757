"""Links of the site to labs that the course does not have: their words stay, as text."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat

from autograde.labs.places import LABS
from course.notebook_file import as_bytes

LINK = re.compile(rf"\[([^\]]+)\]\((?:\.\./)+{LABS}/(\w+)/[^)\s]*\)")


def unlink_absent_labs(source: Path) -> list[str]:
    """Take links to labs that are not there out of the staged pages and lectures. Returns these labs' names."""
    there = {folder.name for folder in (source / LABS).glob("*") if folder.is_dir()}
    absent: set[str] = set()

    def words(link: re.Match[str]) -> str:
        """What stays of a link."""
        if link[2] in there:
            return link[0]
        absent.add(link[2])
        return link[1]

    for path in sorted(source.rglob("*.md")):
        before = path.read_text(encoding="utf-8")
        if (after := LINK.sub(words, before)) != before:
            path.write_text(after, encoding="utf-8")
    for path in sorted(source.rglob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        before = as_bytes(notebook)
        for cell in notebook.cells:
            cell.source = LINK.sub(words, cell.source)
        if (after := as_bytes(notebook)) != before:
            path.write_bytes(after)
    return sorted(absent)
