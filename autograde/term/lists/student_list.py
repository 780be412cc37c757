"""Who is who in the university's system: students' ids there, from the gradebook or from a list.

The list is a CSV file. Moodle's exports of grades and participants, Canvas's export of its gradebook, and what
`nbgrader db student import` reads (`id`, `first_name`, `last_name`, `email`, `lms_user_id`) are all understood.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from unicodedata import normalize

from nbgrader.api import Student

from autograde.classroom.errors import StepFailed, printable
from autograde.term.lists.headings import (
    CANVAS_ID,
    EMAIL,
    ID,
    IDS,
    NUMBER,
    SECTION,
    SIS_LOGIN,
    SIS_USER,
    STUDENT,
    USERNAME,
)
from autograde.term.lists.list_file import names_in, read_list

# What of the gradebook each column of a list is compared with: ids in this course, e-mail addresses, LMS ids.
COMPARED = {
    ID: ("id",),
    SIS_LOGIN: ("id", "email"),
    USERNAME: ("id", "email"),
    NUMBER: ("id", "lms"),
    SIS_USER: ("id", "lms"),
    EMAIL: ("email", "id"),
    CANVAS_ID: ("lms",),
}


@dataclass(frozen=True)
class Person:
    """A student in the university's system. student: the id in this course; None if it is not known.

    ids: by heading. compared: by heading, what found the student; if nothing did, all that was tried. why: why nobody
    was found although something matches. near: students of the gradebook whom only the spelling tells from this one.
    """

    student: str | None
    first: str = ""
    last: str = ""
    ids: dict[str, str] = field(default_factory=dict)
    compared: dict[str, str] = field(default_factory=dict)
    why: str = ""
    near: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """As Canvas sorts people: last name, comma, first name."""
        return self.ids.get(STUDENT) or ", ".join(filter(None, (self.last, self.first)))


def from_gradebook(student: Student) -> Person:
    """The person that a student's record in the gradebook describes. An LMS id of digits is Canvas's own."""
    number = (student.lms_user_id or "").strip()
    kind = CANVAS_ID if number.isdecimal() else SIS_USER
    ids = {EMAIL: (student.email or "").strip(), NUMBER: number, kind: number}
    return Person(student.id, student.first_name or "", student.last_name or "", {k: v for k, v in ids.items() if v})


class Known:
    """The gradebook's students, to be found by what a line of a list has. Capitals make no difference."""

    def __init__(self, people: list[Person]) -> None:
        self.people = {normalize("NFC", person.student): person for person in people if person.student}
        self._by: dict[tuple[str, str], set[str]] = defaultdict(set)
        self._near: dict[str, set[str]] = defaultdict(set)
        for student, person in self.people.items():
            email, lms = person.ids.get(EMAIL, ""), person.ids.get(NUMBER, "")
            for kind, text in (("id", student), ("email", email), ("lms", lms)):
                if text:
                    self._by[kind, normalize("NFC", text).casefold()].add(student)
                    for spelling in spellings(text):
                        self._near[spelling].add(student)

    def having(self, heading: str, text: str) -> set[str]:
        """The students who have this text as what the column `heading` is compared with."""
        kinds = {kind: self._by.get((kind, text.casefold()), set()) for kind in COMPARED[heading]}
        if "id" in kinds and text in self.people:  # as it is written, before another spelling
            kinds["id"] = {text}
        return set().union(*kinds.values())

    def find(self, line: dict[str, str]) -> tuple[str | None, dict[str, str], str]:
        """The student of a line, the cells that found the student, and if there is none why not, if anything matches.

        What two students have finds neither, and cells that find different students find none of them.
        """
        cells = {heading: line[heading] for heading in COMPARED if line.get(heading)}
        having = {heading: students for heading, text in cells.items() if (students := self.having(heading, text))}
        single = {heading: next(iter(students)) for heading, students in having.items() if len(students) == 1}
        if len({*single.values()}) > 1:
            each = (f"{heading} {printable(cells[heading])} is that of {one}" for heading, one in single.items())
            return None, cells, ", ".join(each)
        shared = {heading: students for heading, students in having.items() if len(students) > 1}
        for heading, one in single.items():
            if all(one in students for students in shared.values()):
                return one, {heading: cells[heading]}, ""
        for heading, students in shared.items():
            both = " and ".join(map(printable, sorted(students)))
            return None, cells, f"{heading} {printable(cells[heading])} is that of both {both}"
        return None, cells, ""

    def near(self, line: dict[str, str]) -> tuple[str, ...]:
        """Students who have what a line has but for leading zeros, or what stands before the @ of its address."""
        texts = [line[heading] for heading in COMPARED if line.get(heading)]
        return tuple(sorted({one for text in texts for each in spellings(text) for one in self._near.get(each, ())}))


def spellings(text: str) -> set[str]:
    """What a spreadsheet, a mail program or a person may make of an id or an address: without leading zeros, what
    groups its digits, its domain, or the name around it."""
    text = normalize("NFKC", text).casefold().strip().lstrip("'")
    if address := re.search(r"<([^<>]+)>$", text):
        text = address[1]
    text = text.removeprefix("mailto:").rpartition("\\")[2]
    parts = {text, text.partition("@")[0].rstrip()}
    return {plain_number(part) for part in parts} | {ungrouped(part) for part in parts}


def ungrouped(text: str) -> str:
    """An id with digits in it without what stands between them, as in 12.345.678 or S-0042."""
    return (re.sub(r"[\s.,'_-]+", "", text).lstrip("0") or text) if re.search(r"\d", text) else text


def plain_number(text: str) -> str:
    """An id without the zeros in front, and without the `.0` that makes a number of it."""
    return re.sub(r"[.,]0+$", "", text).lstrip("0") or text


def one_spelled_twice(students: list[str]) -> list[list[str]]:
    """Groups of ids that only capitals or leading zeros tell apart."""
    groups: dict[str, list[str]] = defaultdict(list)
    for student in students:
        groups[plain_number(normalize("NFKC", student).casefold())].append(student)
    return [sorted(group) for group in groups.values() if len(group) > 1]


def from_list(path: Path, known: list[Person]) -> tuple[list[Person], list[str]]:
    """The people on a list, in its order, and what stands on lines that are nobody's.

    known: the gradebook's. A line finds the student who alone has one of its ids, see `COMPARED`. Raises StepFailed if
    the list cannot be read, or has somebody twice.
    """
    listed, gradebook = read_list(path), Known(known)
    people: list[Person] = []
    for line in listed.lines:
        student, compared, why = gradebook.find(line)
        found = gradebook.people[student] if student is not None else Person(None, line.get(ID, ""))
        near = () if student is not None or why else gradebook.near(line)
        first, last = names_in({key: text for key, text in line.items() if key != STUDENT})
        ids = {heading: line[heading] for heading in (*IDS, SECTION, STUDENT) if line.get(heading) and heading != ID}
        if number := line.get(NUMBER):
            ids.setdefault(CANVAS_ID if number.isdecimal() else SIS_USER, number)
        people.append(Person(student, first or found.first, last or found.last, found.ids | ids, compared, why, near))
    refuse_twice(path, [(person.student, next(iter(person.compared.values()))) for person in people if person.student])
    return people, listed.nobody


def refuse_twice(path: Path, found: list[tuple[str, str]]) -> None:
    """Raise StepFailed if a student is more than once among those of the list at `path`. found: with what is there."""
    by_student: dict[str, list[str]] = defaultdict(list)
    for student, text in found:
        by_student[student].append(text)
    if twice := {student: texts for student, texts in by_student.items() if len(texts) > 1}:
        each = (
            printable(student) + (f" ({', '.join(map(printable, texts))})" if {*texts} != {student} else "")
            for student, texts in sorted(twice.items())
        )
        raise StepFailed(f"{path}: more than one line for {'; '.join(each)}")
