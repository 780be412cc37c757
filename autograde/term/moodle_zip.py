"""Takes in what Moodle's "Download all submissions" gives: one archive with a folder for each student, or the folder in
which it was unpacked.

Moodle names what a student handed in `FULL NAME_NUMBER_assignsubmission_file/...`, or, without folders,
`FULL NAME_NUMBER_assignsubmission_file_...`; what was typed into its editor is `..._assignsubmission_onlinetext/...`.
The number means nothing outside of Moodle, so students are found by their names in the gradebook, see
`autograde.term.lists.full_names`. Where groups hand in, the name is the group's, and nothing says who is in it. Nor
does anything say when it was handed in: who is late stands in Moodle.
"""

from __future__ import annotations

import re
import shutil
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from lzma import LZMAError
from pathlib import Path, PurePosixPath

from nbgrader.api import Student

from autograde.classroom.errors import StepFailed, describe, printable
from autograde.classroom.nbgrader_course import Course
from autograde.classroom.submissions.zip_names import is_work, names_of, names_of_unpacked
from autograde.term.lists.full_names import Match, match_all
from autograde.term.lists.headings import NUMBERED
from course.exchange.limits import MAX_FOLDER, NOTEBOOKS, megabytes, notebook_too_large
from course.exchange.names import TIMESTAMP
from course.files import Unreadable, read_plain

# In a folder of its own, if somebody packed it again. What a student handed in may be named like this itself.
HANDED_IN = re.compile(
    r"(?:[^/]+/)*?(?P<who>(?P<name>[^/]+?)(?:_(?P<number>\d+))?)_assignsubmission_(?P<kind>[a-z]+)_?/?(?P<file>.+)",
    re.DOTALL,
)
FILE = "file"  # the kind of what is handed in as files; others go into a folder of their name
DAMAGED = (zipfile.BadZipFile, zlib.error, LZMAError, EOFError, RuntimeError, OSError, ValueError)
OTHER_ARCHIVES = (".7z", ".rar", ".tar", ".gz", ".tgz", ".bz2", ".xz")

LEFT_OUT = f"it is damaged, or too large: {megabytes(MAX_FOLDER)} are taken of each student"

Read = Callable[[], bytes | None]  # a file's content; None if it must not, or cannot, be read


@dataclass
class HandedIn:
    """What somebody handed in. number: Moodle's; empty without one. names: the ways to read the full name."""

    number: str = ""
    names: dict[str, None] = field(default_factory=dict)
    files: dict[PurePosixPath, Read] = field(default_factory=dict)


def take_in(course: Course, lab: str, path: Path) -> tuple[list[str], list[str]]:
    """Put each student's files from the archive or folder at `path` where they are graded, instead of earlier ones.

    Returns what to say and what went wrong, a line each. Raises StepFailed if there is no submission at `path`.
    """
    with opened(path) as files:
        found = by_person(files)
        if not found:
            raise StepFailed(
                f'{path}: there is no submission as Moodle\'s "Download all submissions" names it: '
                "FULL NAME_NUMBER_assignsubmission_file"
            )
        with course.gradebook() as gradebook:
            students = gradebook.students
            called = {student.id: full_name(student) for student in students}
            matches = match_all({who: tuple(one.names) for who, one in found.items()}, students)
        there = Counter(match.students for match in matches.values())
        taken, said, failed = 0, [], []
        for who, handed_in in sorted(found.items()):
            match = matches.get(who, Match())
            if len(match.students) != 1 or there[match.students] > 1:
                yourself = f"put the files into {course.folder('submitted', 'ID', lab)} yourself"
                why = about_unknown(handed_in, match, there[match.students] or 1, path.name, yourself)
                failed.append(f"{printable(who)} is not taken: {why}")
                continue
            (student,) = match.students
            folder = course.folder("submitted", student, lab)
            replaced, left_out = put(handed_in.files, folder)
            taken += replaced
            if replaced and not (match.sure and not match.group):
                known_as = f" ({printable(called[student])})" if called[student] not in ("", student) else ""
                of = f", of group {printable(match.group)}" if match.group else ", who alone has what is in this name"
                said.append(f"{printable(who)} is taken as {printable(student)}{known_as}{of}")
            failed += [f"{printable(f'{who}: {file}')} is left out: {LEFT_OUT}" for file in left_out]
            failed += [f"{printable(who)}: {printable(each)}" for each in too_large(folder)] if replaced else []
            if not replaced:
                failed.append(f"{printable(who)} is not taken: no file can be read; what was there before stays")
    return [f"{taken} in {path}", *said], failed


def too_large(folder: Path) -> list[str]:
    """Which notebooks of a submission are too large to be graded, and what to do."""
    notebooks = (path for path in sorted(folder.rglob("*")) if path.name.lower().endswith(NOTEBOOKS))
    reasons = filter(None, map(notebook_too_large, notebooks))
    return [f"{reason} It is in {folder}; then grade it by --no-collect." for reason in reasons]


def by_person(files: dict[tuple[str, ...], Read]) -> dict[str, HandedIn]:
    """What everybody handed in, by the name that Moodle gave it. files: by all ways to read where they are."""
    found: dict[str, HandedIn] = {}
    for readings, read in files.items():
        matches = [match for where in readings if is_work(where) and (match := HANDED_IN.fullmatch(where))]
        if not matches:
            continue
        first = matches[0]
        one = found.setdefault(first["who"], HandedIn(first["number"] or ""))
        one.names |= dict.fromkeys(match["name"] for match in matches)
        one.files[PurePosixPath(*([] if first["kind"] == FILE else [first["kind"]]), first["file"])] = read
    return found


def about_unknown(handed_in: HandedIn, match: Match, there: int, archive: str, yourself: str) -> str:
    """Why it is not known whose this is, and what to do. there: how many find whom this finds. yourself: what to do by
    hand."""
    if any(NUMBERED.fullmatch(f"{name} {handed_in.number}") for name in handed_in.names):
        return (
            "it has a number in place of a name, as Moodle marks blind: reveal the students' identities in Moodle, and "
            f"download it again, or {yourself}"
        )
    why = f"the gradebook has {len(match.students)} of this name, and {archive} {there}; {yourself}"
    if not match.students:
        return f"{why}; if it is a group, into the folder of each member"
    return f"{why}; it may be {' or '.join(map(printable, match.students))}"


def full_name(student: Student) -> str:
    """What a student is called."""
    return " ".join(filter(None, (student.first_name, student.last_name)))


@contextmanager
def opened(path: Path) -> Iterator[dict[tuple[str, ...], Read]]:
    """The files of an archive or a folder, by the ways to read where they are in it. Raises StepFailed if it is
    neither."""
    if path.is_dir():
        inside = [file for file in sorted(path.rglob("*")) if not file.is_dir()]
        yield {names_of_unpacked(file.relative_to(path).as_posix()): partial(plain, file) for file in inside}
        return
    try:
        archive = zipfile.ZipFile(path)
    except OSError as error:
        raise StepFailed(f"{path} cannot be read: {describe(error)}") from error
    except DAMAGED as error:
        unpack = "; unpack it, and give the folder" if path.name.lower().endswith(OTHER_ARCHIVES) else ""
        raise StepFailed(f"{path} is neither a folder nor a .zip archive{unpack}") from error
    with archive:
        members = [member for member in archive.infolist() if not member.is_dir()]
        yield {names_of(member): partial(unpacked, archive, member) for member in members}


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
    except DAMAGED:
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
