"""Takes in what Moodle's "Download all submissions" gives: one archive with a folder for each student, or the folder in
which it was unpacked.

Moodle names what a student handed in `FULL NAME_NUMBER_assignsubmission_file/...`, or, without folders,
`FULL NAME_NUMBER_assignsubmission_file_...`. The number means nothing outside of Moodle, so students are found by their
names in the gradebook. It does not say when something was handed in: who is late stands in Moodle.
"""

from __future__ import annotations

import re
import shutil
import zipfile
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from unicodedata import normalize

from nbgrader.api import Student

from autograde.classroom.nbgrader_course import Course, StepFailed, describe, printable
from course.exchange.limits import MAX_FOLDER, NOTEBOOKS, megabytes, notebook_too_large
from course.exchange.names import TIMESTAMP
from course.files import Unreadable, read_plain

HANDED_IN = re.compile(r"(?P<who>(?P<name>[^/]+)_\d+)_assignsubmission_file_?/?(?P<file>.+)", re.DOTALL)

LEFT_OUT = f"it is damaged, or too large: {megabytes(MAX_FOLDER)} are taken of each student"

Read = Callable[[], bytes | None]  # a file's content; None if it must not, or cannot, be read


def take_in(course: Course, lab: str, path: Path) -> tuple[list[str], list[str]]:
    """Put each student's files from the archive or folder at `path` where they are graded, instead of earlier ones.

    Returns what to say and what went wrong, a line each. Raises StepFailed if there is no submission at `path`.
    """
    with opened(path) as files:
        found: dict[tuple[str, str], dict[PurePosixPath, Read]] = defaultdict(dict)
        for where, read in files.items():
            if match := HANDED_IN.fullmatch(where):
                found[match["name"], match["who"]][PurePosixPath(match["file"])] = read
        if not found:
            raise StepFailed(
                f'{path}: there is no submission as Moodle\'s "Download all submissions" names it: '
                "FULL NAME_NUMBER_assignsubmission_file"
            )
        with course.gradebook() as gradebook:
            known = by_name(gradebook.students)
        there = Counter(spelled(name) for name, _ in found)
        taken, failed = 0, []
        for (name, who), submission in sorted(found.items()):
            students = known.get(spelled(name), [])
            if len(students) != 1 or there[spelled(name)] > 1:
                place = course.folder("submitted", "ID", lab)
                why = f"the gradebook has {len(students)} of this name, and {path.name} {there[spelled(name)]}"
                failed.append(f"{printable(who)} is not taken: {why}; put the files into {place} yourself")
                continue
            folder = course.folder("submitted", students[0], lab)
            replaced, left_out = put(submission, folder)
            taken += replaced
            failed += [f"{printable(f'{who}: {file}')} is left out: {LEFT_OUT}" for file in left_out]
            failed += [f"{printable(who)}: {printable(each)}" for each in too_large(folder)] if replaced else []
            if not replaced:
                failed.append(f"{printable(who)} is not taken: no file can be read; what was there before stays")
    return [f"{taken} in {path}"], failed


def too_large(folder: Path) -> list[str]:
    """Which notebooks of a submission are too large to be graded, and what to do."""
    notebooks = (path for path in sorted(folder.rglob("*")) if path.name.lower().endswith(NOTEBOOKS))
    reasons = filter(None, map(notebook_too_large, notebooks))
    return [f"{reason} It is in {folder}; then grade it by --no-collect." for reason in reasons]


def by_name(students: Iterable[Student]) -> dict[str, list[str]]:
    """The ids of students by their full names, first name first or last name first, as `spelled`."""
    ids: dict[str, set[str]] = defaultdict(set)
    for student in students:
        first, last = student.first_name or "", student.last_name or ""
        for name in (f"{first} {last}", f"{last} {first}", f"{last}, {first}"):
            ids[spelled(name)].add(student.id)
    return {name: sorted(each) for name, each in ids.items() if name}


def spelled(name: str) -> str:
    """A name without what Moodle changes in the names of files, and without capitals."""
    return " ".join(re.sub(r"[_\s]+", " ", normalize("NFKC", name)).casefold().split())


@contextmanager
def opened(path: Path) -> Iterator[dict[str, Read]]:
    """The files of an archive or a folder, by where they are in it. Raises StepFailed if it is neither."""
    if path.is_dir():
        inside = [file for file in sorted(path.rglob("*")) if not file.is_dir()]
        yield {file.relative_to(path).as_posix(): partial(plain, file) for file in inside}
        return
    try:
        archive = zipfile.ZipFile(path)
    except OSError as error:
        raise StepFailed(f"{path} cannot be read: {describe(error)}") from error
    except zipfile.BadZipFile as error:
        raise StepFailed(f"{path} is neither a folder nor a .zip archive") from error
    with archive:
        members = [member for member in archive.infolist() if not member.is_dir()]
        yield {member.filename: partial(unpacked, archive, member) for member in members}


def plain(file: Path) -> bytes | None:
    """See `Read`."""
    try:
        return read_plain(file, MAX_FOLDER)
    except (OSError, Unreadable):
        return None


def unpacked(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes | None:
    """See `Read`."""
    try:
        with archive.open(member) as file:
            content = file.read(MAX_FOLDER + 1)
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError):
        return None
    return content if len(content) <= MAX_FOLDER else None


def put(submission: dict[PurePosixPath, Read], folder: Path) -> tuple[bool, list[PurePosixPath]]:
    """Write a submission's files to `folder`, instead of what is there, which stays if none of them can be read.

    Returns whether they were written, and the files that are left out: damaged, or more than `MAX_FOLDER` in all.
    """
    part, left_out, room = folder.with_name(f".{folder.name}.part"), [], MAX_FOLDER
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    for file, read in submission.items():
        if file.is_absolute() or ".." in file.parts or file.name == TIMESTAMP:  # which says what the student likes
            continue
        if (content := read()) is None or len(content) > room:
            left_out.append(file)
            continue
        room -= len(content)
        target = part.joinpath(*file.parts)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    if left_out and not any(part.iterdir()):
        part.rmdir()
        return False, left_out
    shutil.rmtree(folder, ignore_errors=True)
    part.rename(folder)
    return True, left_out
