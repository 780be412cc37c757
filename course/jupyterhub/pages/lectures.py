"""The lectures on a student's page: notebooks of the kit, of which each student has copies.

They lie at `course/lectures/` in the home, as a lab's notebook links to them. Their links to labs lead to COURSE/LAB,
where nbgrader puts what is fetched.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

from course.jupyterhub.pages.student_exchange import Unavailable
from course.overview.entries import lectures_in

COPIES = Path("course", "lectures")
LABS = "../../labs/"  # how links in a lecture begin that lead to labs
GLOSSARY = "GLOSSARY.md"  # in the kit's folder of labs
COPY = "lockstep_copy"  # an entry in a copy's metadata: the course to which its links lead, and its text's digest


def copy_lectures(folder: Path, root: Path, course: str) -> None:
    """Copy the lectures in `folder`, with the glossary, to where the student at `root` may write.

    A copy whose text the student has changed stays as it is, as does one that is up to date, with its outputs. course:
    to whose labs links lead, in new copies. Raises Unavailable.
    """
    copies, glossary = root / COPIES, folder.parents[1] / "labs" / GLOSSARY
    try:
        copies.mkdir(parents=True, exist_ok=True)
        if glossary.exists():
            shutil.copyfile(glossary, copies / GLOSSARY)
        for name in lectures_in(folder):
            copy_one(folder / f"{name}.ipynb", copies / f"{name}.ipynb", course)
    except OSError as error:
        raise Unavailable(f"The lectures cannot be copied to your folder {COPIES}: {error.strerror}.") from error


def copy_one(lecture: Path, copy: Path, course: str) -> None:
    """Copy one lecture, unless the copy is changed or up to date."""
    if copy.exists():
        known = read(copy)
        made = known.get("metadata", {}).get(COPY, {})
        if made.get("digest") != digest(known):
            return
        course = made["course"]
    text = lecture.read_text(encoding="utf-8")
    notebook = json.loads(text.replace(f"{LABS}{GLOSSARY}", GLOSSARY).replace(LABS, f"../../{course}/"))
    if not copy.exists() or digest(notebook) != digest(known):
        notebook["metadata"][COPY] = {"course": course, "digest": digest(notebook)}
        copy.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read(path: Path) -> dict[str, Any]:
    """A notebook's content; nothing of a file that is none."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}


def digest(notebook: dict[str, Any]) -> str:
    """A digest of the text of all cells, whatever their outputs are."""
    cells = [(cell.get("cell_type"), "".join(cell.get("source", ""))) for cell in notebook.get("cells", [])]
    return hashlib.sha256(json.dumps(cells).encode()).hexdigest()


def open_copy(folder: Path, name: str, root: Path, course: str) -> str:
    """Copy the lectures as `copy_lectures`, and give the path of one of them below `root`. Raises Unavailable."""
    if name not in lectures_in(folder):
        raise Unavailable(f"There is no lecture {name!r}.")
    copy_lectures(folder, root, course)
    return str(COPIES / f"{name}.ipynb")
