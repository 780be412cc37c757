"""Who has the old text of a lab that was corrected and released again, as far as an instructor can know."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from autograde.labs.file_states import state_of
from autograde.labs.folder import Lab
from autograde.making.build import GLOSSARY, RUN, Built, File, build
from course.corrections.changes import in_words
from course.corrections.releases import current, kept, release_of, stamp_in, stamp_of, with_stamp
from course.exchange.due import to_the_minute
from course.exchange.handed_in.inbound import last_hand_ins
from course.exchange.limits import MAX_NOTEBOOK
from course.files import Unreadable, read_plain, write_whole
from course.overview.cells import NoNotebook, read_notebook

MOST_NAMED = 20  # students in one line


def stamp(built: Built) -> str:
    """The stamp of what students get of a lab."""
    return stamp_of({name: file.content for name, file in built.student.items()})


def stamp_now(root: Path, lab: Lab) -> str:
    """The stamp of what would be released of a lab now. It is kept in build/ of the course at `root`, as long as nobody
    has written to the lab's files. Raises LabError."""
    note = root / "build" / "stamps" / lab.name
    source = state_of((*sorted(lab.folder.rglob("*")), lab.folder.parent / GLOSSARY, RUN))
    with suppress(OSError):
        of, _, found = note.read_text().partition(" ")
        if of == source:
            return found
    found = stamp(build(lab))
    with suppress(OSError):  # where somebody only looks
        note.parent.mkdir(parents=True, exist_ok=True)
        write_whole(note, f"{source} {found}".encode())
    return found


def as_released(built: Built) -> dict[str, File]:
    """The files that students get, with the stamp in the notebook."""
    notebook = built.student[built.lab.notebook]
    return {**built.student, built.lab.notebook: File(with_stamp(notebook.content, stamp(built)))}


def about_old_text(root: Path | str, course: str, lab: str, corrected: bool) -> list[str]:
    """What to say of a lab that has just been released again in the exchange at `root`, line by line.

    corrected: whether its text differs from that of the release before.
    """
    new, releases = current(root, course, lab), kept(root, course, lab)
    if new is None:
        return []
    old = [release for release in releases if release.when < new.when and release.stamp != new.stamp]
    same = [] if corrected else [f"{lab}: the text is as it was released at {to_the_minute(new.when)}"]
    if not old:
        return same
    since = old[-1]
    handed_in = texts_handed_in(root, course, lab)
    behind = sorted(
        student if student.isprintable() else ascii(student) for student, text in handed_in.items() if text != new.stamp
    )
    named = ", ".join(behind[:MOST_NAMED]) + (f" and {len(behind) - MOST_NAMED} more" if behind[MOST_NAMED:] else "")
    who = f"{len(behind)} of {len(handed_in)} who handed in have the old text: {named}" if behind else ""
    return [
        *(same or [f"{lab}: corrected since {to_the_minute(since.when)}: {in_words(since, new)}"]),
        f"{lab}: {who or 'nobody has handed in the old text'}",
        f"{lab}: whoever fetched it before {to_the_minute(new.when)} keeps the old text; on a hub, Your labs "
        "tells them, and gets them the new one with what they wrote",
    ]


def texts_handed_in(root: Path | str, course: str, lab: str) -> dict[str, str]:
    """The stamp of the text that each student has last handed in through the exchange; empty where it is not known."""
    releases, found = kept(root, course, lab), {}
    for student, last in last_hand_ins(Path(root, course, "inbound"), lab).items():
        try:
            notebook = read_notebook(read_plain(last.path / f"{lab}.ipynb", MAX_NOTEBOOK))
            release = release_of(notebook, releases)
            found[student] = release.stamp if release else stamp_in(notebook)
        except (OSError, Unreadable, NoNotebook):
            found[student] = ""
    return found
