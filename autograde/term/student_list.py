"""Who is who in the university's system: students' ids there, from the gradebook or from a list.

The list is a CSV file. Moodle's exports of grades and participants, Canvas's export of its gradebook, and what
`nbgrader db student import` reads (`id`, `first_name`, `last_name`, `email`, `lms_user_id`) are all understood.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from unicodedata import normalize

from nbgrader.api import Student

from autograde.classroom.nbgrader_course import StepFailed, printable

EMAIL, NUMBER, USERNAME = "Email address", "ID number", "Username"  # Moodle's headings
CANVAS_ID, SIS_USER, SIS_LOGIN = "ID", "SIS User ID", "SIS Login ID"  # Canvas's
SECTION = "Section"
HEADINGS = {
    **{name: name for name in (EMAIL, NUMBER, USERNAME, CANVAS_ID, SIS_USER, SIS_LOGIN, SECTION)},
    **{"email": EMAIL, "lms_user_id": NUMBER, "first_name": "First name", "last_name": "Last name"},
    **{"First name": "First name", "Last name": "Last name", "Surname": "Last name"},
    **{"Student": "Student", "id": "id", "name": "name"},
}
BY_ID = ("id", SIS_LOGIN, USERNAME, NUMBER, SIS_USER)  # columns that may hold the student's id in this course
BY_EMAIL = (EMAIL, SIS_LOGIN, USERNAME)  # columns that may hold the e-mail address
BY_LMS_ID = (NUMBER, CANVAS_ID, SIS_USER)  # columns that may hold the LMS id that the gradebook has
POINTS_POSSIBLE = "Points Possible"  # begins the second line of Canvas's export, which is nobody


@dataclass(frozen=True)
class Person:
    """A student in the university's system. student: the id in this course; None if it is not known.

    ids: by heading. compared: by heading, what found the student; if nothing did, all that was tried.
    """

    student: str | None
    first: str = ""
    last: str = ""
    ids: dict[str, str] = field(default_factory=dict)
    compared: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """As Canvas sorts people: last name, comma, first name."""
        return self.ids.get("Student") or ", ".join(filter(None, (self.last, self.first)))


def from_gradebook(student: Student) -> Person:
    """The person that a student's record in the gradebook describes. An LMS id of digits is Canvas's own."""
    number = (student.lms_user_id or "").strip()
    kind = CANVAS_ID if number.isdecimal() else SIS_USER
    ids = {EMAIL: (student.email or "").strip(), NUMBER: number, kind: number}
    return Person(student.id, student.first_name or "", student.last_name or "", {k: v for k, v in ids.items() if v})


def from_list(path: Path, known: list[Person]) -> list[Person]:
    """The people on a list, in its order. Raises StepFailed if it cannot be read, or names somebody twice.

    known: the gradebook's. A line is a student's if one of `BY_ID` is the student's id in this course, or else if one
    of `BY_EMAIL` is the e-mail address that the gradebook has, or else if one of `BY_LMS_ID` is its LMS id.
    """
    by_id = {normalize("NFC", person.student): person for person in known}
    by_email = {person.ids[EMAIL].casefold(): person for person in known if EMAIL in person.ids}
    by_lms_id = {person.ids[NUMBER]: person for person in known if NUMBER in person.ids}
    people: list[Person] = []
    for line in people_lines(path):
        compared = {key: line[key] for key in dict.fromkeys((*BY_ID, *BY_EMAIL, *BY_LMS_ID)) if line.get(key)}
        tried = [(key, by_id.get(line.get(key))) for key in BY_ID]
        tried += [(key, by_email.get(line.get(key, "").casefold())) for key in BY_EMAIL]
        tried += [(key, by_lms_id.get(line.get(key))) for key in BY_LMS_ID]
        found = Person(None, line.get("id", ""))
        for key, person in tried:
            if person is not None:
                found, compared = person, {key: compared[key]}
                break
        line.pop("id", None)
        if number := line.get(NUMBER):
            line.setdefault(CANVAS_ID if number.isdecimal() else SIS_USER, number)
        first, last = names_in({key: text for key, text in line.items() if key != "Student"})
        for key in ("First name", "Last name", "name"):
            line.pop(key, None)
        first, last = first or found.first, last or found.last
        ids = found.ids | {key: text for key, text in line.items() if text}
        people.append(Person(found.student, first, last, ids, compared))
    refuse_twice(path, [person.student for person in people if person.student])
    return people


def refuse_twice(path: Path, students: list[str]) -> None:
    """Raise StepFailed if a student is more than once among those of the list at `path`."""
    if twice := sorted(student for student, count in Counter(students).items() if count > 1):
        raise StepFailed(f"{path}: more than one line for {', '.join(map(printable, twice))}")


def people_lines(path: Path) -> list[dict[str, str]]:
    """The lines of a list that are people. Raises StepFailed."""
    return [
        line
        for line in read_lines(path)
        if any(line.values()) and (POINTS_POSSIBLE not in line.get("Student", "") or line.get(CANVAS_ID))
    ]


def names_in(line: dict[str, str]) -> tuple[str, str]:
    """First and last name on a line of a list, where both may be in one column."""
    last, _, first = line.get("Student", "").partition(",")
    whole = line.get("name", "").rpartition(" ")
    return line.get("First name") or first.strip() or whole[0], line.get("Last name") or last.strip() or whole[2]


def read_lines(path: Path) -> list[dict[str, str]]:
    """The lines of a CSV file, by the headings that are known here. Raises StepFailed."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise StepFailed(f"{path} is not read: {getattr(error, 'strerror', None) or 'it is not UTF-8'}") from error
    first = text.partition("\n")[0]
    separator = max(",;\t", key=first.count)
    try:
        lines = list(csv.DictReader(io.StringIO(text, newline=""), delimiter=separator))
    except csv.Error as error:
        raise StepFailed(f"{path} is no CSV file: {error}") from error
    headings = [heading for heading in (lines[0] if lines else {}) if heading]
    known = {heading: HEADINGS[heading.strip()] for heading in headings if heading.strip() in HEADINGS}
    if not {*known.values()} & {"id", EMAIL, NUMBER, USERNAME, CANVAS_ID, SIS_USER, SIS_LOGIN}:
        raise StepFailed(f"{path} has no column of ids; name one in its first line, such as id, email or {SIS_LOGIN}")
    return [{known[key]: normalize("NFC", (line[key] or "").strip()) for key in known} for line in lines]
