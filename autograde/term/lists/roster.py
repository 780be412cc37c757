"""`lockstep enrol --students FILE`: a class goes into the gradebook from the list that the university has of it."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from nbgrader.api import Gradebook

from autograde.classroom.errors import StepFailed, printable, unusable
from autograde.classroom.nbgrader_course import Course
from autograde.term.lists.headings import CANVAS_ID, EMAIL, ID, NUMBER, SIS_LOGIN, SIS_USER, USERNAME
from autograde.term.lists.list_file import StudentList, names_in, read_list
from autograde.term.lists.student_list import Known, from_gradebook, one_spelled_twice, refuse_twice
from course.jupyterhub.accounts.unix import missing

OF_NEW = (ID, SIS_LOGIN, USERNAME, NUMBER, SIS_USER, EMAIL)  # columns that may hold the ids of new students


@dataclass(frozen=True)
class Entry:
    """A student on a list. student: the id here. new: nobody in the gradebook. email, lms_id: empty without one."""

    student: str
    first: str
    last: str
    email: str
    lms_id: str
    new: bool = True


@dataclass(frozen=True)
class Roster:
    """What a list says. heading: as the list has it, of the column of ids. without: names of people who have none.

    doubtful: who is neither enrolled nor surely new, a line each. nobody: what stands on lines that are nobody's.
    """

    entries: list[Entry]
    heading: str
    without: list[str]
    doubtful: list[str]
    nobody: list[str]


def read_roster(path: Path, known: Known) -> Roster:
    """The students on the list at `path`. Raises StepFailed.

    A column `id` has the ids in this course; without one they are in that of the usual columns which has most of the
    ids in the gradebook, else in that which most lines have, the first of these. Who is in the gradebook already, with
    this id or alone with another of the line's, is that student. Of ids that lead to two students, `id` alone decides.
    """
    listed = read_list(path)
    heading = heading_of_ids(listed, known)
    entries, without, doubtful = [], [], []
    for line in listed.lines:
        first, last = names_in(line)
        called, text = " ".join(filter(None, (first, last))) or "?", line.get(heading, "")
        found, _, why = known.find(line)
        if text in known.people and (heading == ID or not why):
            found, why = text, ""
        near = () if found or why else known.near(line)
        if why or near:
            what = why or f"nearly {', '.join(map(printable, near))}, who is"
            doubtful.append(f"{printable(called)}{f' ({printable(text)})' if text else ''}: {what}")
        elif student := found or text:
            lms_id = line.get(CANVAS_ID) or line.get(NUMBER) or line.get(SIS_USER) or ""
            entries.append(Entry(student, first, last, line.get(EMAIL, ""), lms_id, found is None))
        else:
            without.append(called)
    refuse_twice(path, [(entry.student, entry.student) for entry in entries])
    students = [entry.student for entry in entries if entry.new]
    refuse_unusable(path, heading, students)
    if spelled := [each for each in one_spelled_twice(students)]:
        twice = {student for group in spelled for student in group}
        entries = [entry for entry in entries if entry.student not in twice]
        doubtful += [f"{' and '.join(map(printable, group))}: is it one student?" for group in spelled]
    return Roster(entries, listed.headings.get(heading, heading), without, doubtful, listed.nobody)


def heading_of_ids(listed: StudentList, known: Known) -> str:
    """The column of a list that has the ids in this course."""
    has = Counter(heading for line in listed.lines for heading, text in line.items() if text)
    if has[ID]:
        return ID
    ours = Counter(heading for line in listed.lines for heading in OF_NEW if line.get(heading) in known.people)
    return max(OF_NEW, key=lambda heading: (ours[heading], has[heading]))


def refuse_unusable(path: Path, heading: str, students: Iterable[str]) -> None:
    """Raise StepFailed if one of the new ids cannot be one."""
    for student in students:
        if unusable(student) or "/" in student or student.startswith("."):
            raise StepFailed(
                f"{path}: {student!a} in column {heading} cannot be an id; ids name folders, so put others into a "
                "column called id"
            )


def enrol_list(course: Course, path: Path, all_new: bool = False) -> list[str]:
    """Enrol everybody on the list at `path`. Returns what the instructor should know, a line each. Raises StepFailed.

    Who is enrolled already gets the e-mail address and LMS id of the list, and keeps the name. A list of which nobody
    is known, where there are students in the gradebook or accounts on a hub, is refused unless they are `all_new`.
    """
    with course.gradebook() as gradebook:
        before = {each.id: each for each in gradebook.students}
        roster = read_roster(path, Known([from_gradebook(each) for each in before.values()]))
        new = [entry.student for entry in roster.entries if entry.new]
        outside = missing(new) if on_hub(course) else []
        if not all_new and len(new) == len(roster.entries):
            if before:
                example = printable(next(iter(before)))
                refuse_strangers(
                    path, roster, f"is in the gradebook, whose {len(before)} students have ids such as {example}"
                )
            if outside and len(outside) == len(new):
                refuse_strangers(path, roster, "has an account on this hub's machine")
        for entry in roster.entries:
            facts = {"email": entry.email, "lms_user_id": entry.lms_id}
            known = before.get(entry.student)
            if known is None or (not known.first_name and known.last_name in (None, "", entry.student)):
                facts |= {"first_name": entry.first, "last_name": entry.last or ("" if entry.first else entry.student)}
            gradebook.update_or_create_student(entry.student, **{key: text for key, text in facts.items() if text})
    source = f"; their ids are from the column {roster.heading}" if roster.entries else ""
    notes = [f"{len(roster.entries)} on the list, {len(new)} of them new{source}"]
    if before and new:
        notes.append(f"new: {'; '.join(map(printable, new))}")
    if outside:
        who, ids = "; ".join(map(printable, outside)), shlex.join(outside)
        notes.append(
            f"no account here, so they cannot log in: {who}; to take them out: `./lockstep enrol --remove {ids}`"
        )
    elif new and not before and not on_hub(course):
        taken_out = f"`./lockstep enrol --remove --students {shlex.quote(str(path))}`"
        notes.append(f"if they have other ids here, {taken_out} takes them out again")
    if roster.without:
        notes.append(f"without one, so not enrolled: {'; '.join(map(printable, roster.without))}")
    if roster.nobody:
        notes.append(f"no people, so not enrolled: {'; '.join(map(printable, roster.nobody))}")
    notes += [f"not enrolled: {said}" for said in roster.doubtful]
    if roster.doubtful:
        notes.append("correct the list, or enrol those who are new by name: `lockstep enrol ID=NAME`")
    return notes


def on_hub(course: Course) -> bool:
    """Whether this is a course of a hub, on which ids are the accounts of its machine."""
    return course.config.ExchangeCollect.get("check_owner") is True  # who hands in is who owns the folder


def refuse_strangers(path: Path, roster: Roster, lacking: str) -> None:
    """Raise StepFailed, as nobody of the list is known here. lacking: what nobody on it is or has."""
    ids = [entry.student for entry in roster.entries]
    like = f", such as {printable(ids[0])}" if ids else ""
    more = f"; {roster.doubtful[0]}" if roster.doubtful else ""
    raise StepFailed(
        f"{path}: nobody on it {lacking}; those of the list are from the column {roster.heading}{like}{more}. Put the "
        "ids that they have here, on a hub their accounts' names, into a column called id; if all of them are new, say "
        "--new. Nobody is enrolled"
    )


def not_told_apart(gradebook: Gradebook) -> list[str]:
    """One line per student who may be in the gradebook twice, and per address or LMS id that several have."""
    said = [
        f"{' and '.join(map(printable, group))} are in the gradebook; if that is one student, take one of them back: "
        "`lockstep enrol --remove ID`"
        for group in one_spelled_twice([student.id for student in gradebook.students])
    ]
    owners: dict[tuple[str, str], list[str]] = {}
    for student in gradebook.students:
        for heading, text in ((EMAIL, student.email), (NUMBER, student.lms_user_id)):
            if text and text.strip():
                owners.setdefault((heading, text.strip().casefold()), []).append(student.id)
    return said + [
        f"{heading} {printable(text)} is that of {' and '.join(map(printable, sorted(several)))}, so it finds nobody"
        for (heading, text), several in owners.items()
        if len(several) > 1
    ]


def take_back(course: Course, students: Iterable[str], listed: Path | None) -> list[str]:
    """Take students, and who is on the list at `listed`, out of the gradebook. Returns what to say, a line each.

    Who has handed in something, or has an extension, stays, and is named. Raises StepFailed if nobody is taken out.
    """
    with course.gradebook() as gradebook:
        known = Known([from_gradebook(each) for each in gradebook.students])
        wanted = dict.fromkeys(students)
        if listed:
            wanted |= dict.fromkeys(entry.student for entry in read_roster(listed, known).entries)
        unknown = [student for student in wanted if student not in known.people]
        kept = [student for student in wanted if student in known.people and has_work(course, gradebook, student)]
        gone = [student for student in wanted if student not in {*unknown, *kept}]
        for student in gone:
            gradebook.remove_student(student)
    said = [
        f"{what}: {'; '.join(map(printable, who))}"
        for what, who in (
            ("taken out of the gradebook", gone),
            ("in it still, with work or an extension", kept),
            ("not in the gradebook", unknown),
        )
        if who
    ]
    if not gone:
        raise StepFailed("; ".join(["nobody is taken out of the gradebook", *said]))
    return said


def has_work(course: Course, gradebook: Gradebook, student: str) -> bool:
    """Whether a student has handed in something that is collected, or has an extension."""
    submissions = gradebook.student_submissions(student)
    if any(each.timestamp is not None or each.extension for each in submissions):
        return True
    folder = course.folder("submitted", student, "lab").parent
    return folder.is_dir() and any(folder.iterdir())
