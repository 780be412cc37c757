"""The labs and lectures of a course, in order, as the course map shows them; found in the folders of a student."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course.overview.about import About, about, as_sentence, plain
from course.overview.cells import NoNotebook, read_notebook
from course.overview.progress import Progress, progress

PICTURE = "picture.png"
GET_IT = "Get it again from where you got the course."
LAB = re.compile(r"^\| \[([^\]]+)\]\(([\w-]+)/\2\.ipynb\)", re.MULTILINE)  # of the table in labs/README.md, on a lab
ROW = re.compile(r"^\| \[[^\]]+\]\(([\w-]+)\.ipynb\): (.+?) \| (.*) \|$", re.MULTILINE)  # of index.md, on a lecture


@dataclass(frozen=True)
class Entry:
    """A lab or a lecture.

    path: its notebook's, below the server's root; empty if it cannot be opened. picture: likewise. progress: how far
    the student is. lecture: the lab's. help: what to do about trouble.
    """

    name: str
    title: str
    progress: Progress
    idea: str = ""
    minutes: str = ""
    path: str = ""
    picture: str = ""
    lecture: Entry | None = None
    help: str = ""


def look_at(notebook: Path) -> tuple[About, Progress]:
    """What a notebook says of itself, and how far the student is with it; `trouble` if it cannot be read."""
    try:
        return look_into(read_notebook(notebook.read_bytes()))
    except (OSError, NoNotebook) as error:
        return About(), Progress(trouble=unread(notebook, error))


def look_into(notebook: Mapping[str, Any]) -> tuple[About, Progress]:
    """The same of a notebook as it is read. Raises NoNotebook."""
    return about(notebook), progress(notebook["cells"])


def unread(notebook: Path, error: OSError | NoNotebook) -> str:
    """Why nothing is known of a notebook, in words."""
    if isinstance(error, FileNotFoundError):
        return f"{notebook.name} is missing"
    return f"{notebook.name} cannot be read: {error.strerror if isinstance(error, OSError) else error}"


def labs_in(folder: Path) -> dict[str, str]:
    """The names of the labs in a folder, in order, with their titles if its README.md, the map, has them.

    Those that the map names come first, as it orders them, even if they are not there; then those of one's own.
    """
    try:
        titles = {name: title for title, name in LAB.findall((folder / "README.md").read_text("utf-8"))}
    except (OSError, ValueError):
        titles = {}
    there = [path.parent.name for path in folder.glob("[!.]*/*.ipynb") if path.stem == path.parent.name]
    return {name: titles.get(name, "") for name in [*titles, *sorted({*there} - {*titles})]}


def lab_entries(root: Path, folder: str, lectures: Iterable[Entry]) -> list[Entry]:
    """The labs in a folder below the server's root."""
    by_file = {f"{one.name}.ipynb": one for one in lectures}
    return [lab_entry(root, f"{folder}/{name}", name, title, by_file) for name, title in labs_in(root / folder).items()]


def lab_entry(root: Path, folder: str, name: str, title: str, lectures: dict[str, Entry]) -> Entry:
    """One lab. lectures: by file. title: for a notebook that cannot be read."""
    notebook = root / folder / f"{name}.ipynb"
    known, state = look_at(notebook)
    if not (root / folder).is_dir():
        state = Progress(trouble=f"the folder {folder} is missing")
    return Entry(
        name=name,
        title=plain(known.title or title or name),
        progress=state,
        idea=known.sentence,
        minutes=known.minutes,
        path="" if state.trouble else f"{folder}/{name}.ipynb",
        picture=f"{folder}/{PICTURE}" if (root / folder / PICTURE).is_file() else "",
        lecture=lectures.get(known.lecture[1]) if known.lecture else None,
        help=GET_IT if state.trouble else "",
    )


def lectures_in(folder: Path) -> list[str]:
    """The names of the lectures in a folder, in order; none if there is no such folder."""
    return sorted(path.stem for path in folder.glob("[!.]*.ipynb"))


def lecture_entries(source: Path, root: Path, folder: str) -> list[Entry]:
    """The lectures of the folder `source`, opened from a folder below the server's root; without a path where they are
    not there."""
    try:
        ideas = {name: idea for name, idea, _ in ROW.findall((source / "index.md").read_text("utf-8"))}
    except (OSError, ValueError):
        ideas = {}
    return [lecture_entry(source / f"{name}.ipynb", ideas, root, folder) for name in lectures_in(source)]


def lecture_entry(source: Path, ideas: dict[str, str], root: Path, folder: str) -> Entry:
    """One lecture. ideas: of lectures, by name."""
    own = root / folder / source.name
    known, state = look_at(source)
    if own != source:
        state = look_at(own)[1] if own.exists() else Progress()
    idea = as_sentence(ideas.get(source.stem, ""))
    return Entry(
        name=source.stem,
        title=plain(known.title or source.stem),
        progress=state,
        idea=idea and f"{idea}.",
        minutes=known.minutes,
        path=f"{folder}/{source.name}" if own.exists() and not state.trouble else "",
        help=GET_IT if state.trouble else "",
    )
