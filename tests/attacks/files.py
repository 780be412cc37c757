"""What lies where submissions are, and is none: links, pipes, folders, odd names.

Students do not write to this folder themselves. But what is collected from the exchange, or unpacked from an archive,
may hold any of these.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from attack import BLANK, Attack, Place
from notebooks import right
from small_course import LAB

NOTEBOOK = f"{LAB}.ipynb"


def linked(target: Callable[[Place], Path | str]) -> Callable[[Place, str], None]:
    """Hands in a symbolic link in place of the notebook."""

    def hand_in(place: Place, name: str) -> None:
        (place.room.put(name, None) / NOTEBOOK).symlink_to(target(place))

    return hand_in


def neighbour(place: Place) -> Path:
    """The submission of a neighbour who is right."""
    return place.room.root / "class" / "submitted" / "ada" / LAB


def linked_folder(place: Place, name: str) -> None:
    """Hands in a link to a neighbour's folder."""
    folder = place.room.root / "class" / "submitted" / name
    folder.mkdir(parents=True)
    (folder / LAB).symlink_to(neighbour(place))


def linked_student(place: Place, name: str) -> None:
    """Is, as a student, a link to a neighbour."""
    (place.room.root / "class" / "submitted" / name).symlink_to(neighbour(place).parent)


def pipe(place: Place, name: str) -> None:
    """Hands in a named pipe, at which a reader waits for ever."""
    os.mkfifo(place.room.put(name, None) / NOTEBOOK)


def pipe_beside(place: Place, name: str) -> None:
    """Hands in named pipes beside a right notebook."""
    folder = place.room.put(name, right(place))
    os.mkfifo(folder / "data.csv")
    os.mkfifo(folder / "other.ipynb")


def folder(place: Place, name: str) -> None:
    """Hands in a folder by the notebook's name, with the notebook in it."""
    inside = place.room.put(name, None) / NOTEBOOK
    inside.mkdir()
    (inside / NOTEBOOK).write_bytes(right(place))


def hard_link(place: Place, name: str) -> None:
    """Hands in another name of the instructor's notebook."""
    source = place.room.root / "build" / "solutions" / LAB / NOTEBOOK
    os.link(source, place.room.put(name, None) / NOTEBOOK)


def secrets_beside(place: Place, name: str) -> None:
    """Hands in links to secrets beside a right notebook: a copy of what they lead to would come back with feedback."""
    submitted = place.room.put(name, right(place))
    (submitted / "page.html").symlink_to(place.room.root / "class" / "gradebook.db")
    (submitted / f"{LAB}.html").symlink_to(place.home / ".ssh" / "id_ed25519")
    (submitted / "zero.txt").symlink_to("/dev/zero")
    (submitted / "course").symlink_to(place.room.root)
    (submitted / "deep").mkdir()
    (submitted / "deep" / "lab.py").symlink_to(place.room.root / "solutions" / LAB / "lab.py")
    os.link(place.home / ".ssh" / "id_ed25519", submitted / "hard.txt")
    with open(submitted / "sparse.bin", "wb") as file:
        file.truncate(2**40)


def kits_own_files(place: Place, name: str) -> None:
    """Hands in files by the names of the lab's own and of Python's modules, which must not be used."""
    submitted = place.room.put(name, place.room.answered({"double": "def double(x):\n    return 1"}))
    for file in (
        "checks.py",
        "checks/__init__.py",
        "checks/double.py",
        "sitecustomize.py",
        "autograde.py",
        "json.py",
        "run.sh",
        "nbgrader_config.py",
        ".env",
    ):
        (submitted / file).parent.mkdir(exist_ok=True)
        (submitted / file).write_text("raise SystemExit(0)\n")
    (submitted / ".ipynb_checkpoints").mkdir()
    (submitted / ".ipynb_checkpoints" / NOTEBOOK).write_bytes(right(place))


def another_name(place: Place, name: str) -> None:
    """Hands in the right notebook by a name that differs in case, and as many copies as a file system takes."""
    submitted = place.room.put(name, None)
    (submitted / NOTEBOOK.upper()).write_bytes(right(place))
    for number in range(300):
        (submitted / f"{LAB} (copy {number}).ipynb").write_text("{}")


def timestamp_pipe(place: Place, name: str) -> None:
    """Hands in a named pipe for the note of when it was handed in."""
    os.mkfifo(place.room.put(name, right(place), when=None) / "timestamp.txt")


def refused(name: str, tries: str, hand_in: Callable[[Place, str], None], problem: str) -> Attack:
    """Nothing of it is read: it is named, gets nothing, and waits for a person."""
    return Attack(name, tries, scores=BLANK, hand_in=hand_in, problem=problem, manual=True)


OUT = "is not read: it is a symbolic link that leads out of the submission"

ATTACKS = (
    refused(
        "link-to-solution",
        "Hands in a link to the instructor's notebook.",
        linked(lambda place: place.room.root / "build" / "solutions" / LAB / NOTEBOOK),
        OUT,
    ),
    refused(
        "link-to-neighbour",
        "Hands in a link to a neighbour's notebook.",
        linked(lambda place: neighbour(place) / NOTEBOOK),
        OUT,
    ),
    refused("link-to-passwd", "Hands in a link to the user database.", linked(lambda place: "/etc/passwd"), OUT),
    refused("link-to-zeros", "Hands in a link to a device that never ends.", linked(lambda place: "/dev/zero"), OUT),
    refused(
        "link-to-itself", "Hands in a link to itself.", linked(lambda place: NOTEBOOK), "a symbolic link to itself"
    ),
    refused(
        "link-to-nothing", "Hands in a link to nothing.", linked(lambda place: "gone"), "a symbolic link to nothing"
    ),
    refused("linked-folder", linked_folder.__doc__, linked_folder, f"the folder `{LAB}` is a symbolic link"),
    refused("linked-student", linked_student.__doc__, linked_student, "the folder `linked-student` is a symbolic link"),
    refused("pipe", pipe.__doc__, pipe, "it is a named pipe"),
    refused("folder", folder.__doc__, folder, "it is a folder"),
    refused("hard-link", hard_link.__doc__, hard_link, "it is a hard link"),
    refused("another-name", another_name.__doc__, another_name, "and 296 more"),
    Attack("pipe-beside", pipe_beside.__doc__, hand_in=pipe_beside),
    Attack("secrets-beside", secrets_beside.__doc__, hand_in=secrets_beside),
    Attack(
        "kits-own-files",
        kits_own_files.__doc__,
        scores={"double": (0.0, "not-double sign-lost"), "total": (0.0, "not-done")},
        hand_in=kits_own_files,
    ),
)
