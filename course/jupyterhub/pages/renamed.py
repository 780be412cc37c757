"""Notebooks that lie in a lab's folder under another name, as of somebody who renamed the lab's, and what becomes of
them: as grading takes it, which is autograde/classroom/submissions/submission.py.
"""

from __future__ import annotations

import errno
import json
import os
from dataclasses import dataclass
from pathlib import Path

from course.exchange.handed_in.summary import quoted
from course.overview.cells import NoNotebook, cells_of, tag_of
from course.overview.progress import is_changed

MOST = 5  # of which grading reads no more


@dataclass(frozen=True)
class OtherNotebook:
    """A notebook with a lab's cells under another name.

    where: its path in the folder. content: what is in the cells that a student writes in. written: the names of those
    that were written in. missing: of these, those that are blank in the lab's own notebook; None if that is not there.
    usual: whether something is written in that.
    """

    where: str
    content: str
    written: frozenset[str]
    missing: frozenset[str] | None
    usual: bool

    @property
    def to_rename(self) -> bool:
        """Whether it may be the lab's notebook, which is missing, or blank where this is written."""
        return self.missing is None or (bool(self.written) and not self.usual)


def other_notebooks(notebook: Path, original: Path) -> list[OtherNotebook]:
    """The notebooks in the folder of `notebook`, without it, that have cells of a lab. original: as it was released.

    Where it is missing or blank, those with work only, if there are some.
    """
    others = [path for path in notebooks(notebook.parent) if path != notebook]
    names = own_cells(original).keys() if others else ()
    if not names:
        return []
    usual = written(notebook, names) if notebook.is_file() else None
    found = []
    for path in others:
        own = {name: cell for name, cell in own_cells(path).items() if name in names}
        if own and len(found) <= MOST:
            work = written(path, names)
            missing = None if usual is None else work - usual
            content = json.dumps(
                {name: [cell["source"], cell.get("attachments")] for name, cell in sorted(own.items())}
            )
            found.append(OtherNotebook(str(path.relative_to(notebook.parent)), content, work, missing, bool(usual)))
    if usual:
        return [each for each in found if each.missing]
    return [each for each in found if each.written] or (found if usual is None else [])


def notebooks(folder: Path) -> list[Path]:
    """The notebooks in a folder, and in folders in it, that are handed in with it."""
    found = [path for below in ("", "[!.]*/", "[!.]*/[!.]*/") for path in sorted(folder.glob(f"{below}[!.]*.ipynb"))]
    return [path for path in found if path.relative_to(folder).parts[0] != "feedback"]


def own_cells(notebook: Path) -> dict[str, dict]:
    """The cells that a student writes in, by name; none of what cannot be read."""
    try:
        tags = [(tag_of(cell), cell) for cell in cells_of(notebook)]
        return {str(tag["grade_id"]): cell for tag, cell in tags if tag.get("solution")}
    except (OSError, NoNotebook, KeyError):
        return {}


def written(notebook: Path, names: set[str]) -> frozenset[str]:
    """Those of these cells that are not as released."""
    return frozenset(name for name, cell in own_cells(notebook).items() if name in names and is_changed(cell))


def about_others(file: str, folder: str, others: list[OtherNotebook]) -> str:
    """What to tell of notebooks beside `file` in `folder`; empty if there are none."""
    if not others:
        return ""
    names = quoted([each.where for each in others])
    several = len({each.content for each in others}) > 1 or len(others) > MOST
    if others[0].usual:
        blank = quoted(sorted(frozenset().union(*(each.missing for each in others))))
        return (
            f"{blank} is blank in `{file}`, and written in {names}: handed in like this, your instructor has to find "
            f"out which counts. Copy it into `{file}`, and move the rest out of the folder."
        )
    own = (
        f"`{file}` is missing in your folder {folder}"
        if others[0].missing is None
        else f"Nothing is written in `{file}`"
    )
    if not others[0].written:
        return f"{own}, and {names} {'lie' if len(others) > 1 else 'lies'} there. If that is yours, rename it back."
    if several:
        return (
            f"{own}, and {names} have work in them: handed in like this, your instructor has to find out which counts. "
            "Rename the right one back."
        )
    return (
        f"{own}, and your work is in {names}, which is graded in its place. Rename it back, to open and check it here."
    )


def rename_back(notebook: Path, where: str) -> None:
    """Give the notebook called `where` the lab's own name. What has that is kept under another. Raises OSError."""
    source = notebook.parent / where
    if notebook.exists():
        move(notebook, *(notebook.with_name(f"{notebook.stem}_{number}.ipynb") for number in range(1, 100)))
    move(source, notebook)


def move(source: Path, *places: Path) -> None:
    """Rename a file to the first of these places where nothing is. Raises OSError."""
    for dest in places:
        try:
            os.link(source, dest)  # unlike a renaming, this replaces nothing
        except FileExistsError:
            continue
        except OSError:  # a file system without such links
            if os.path.lexists(dest):
                continue
            source.rename(dest)
        else:
            source.unlink()
        return
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(places[-1]))
