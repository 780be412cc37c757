"""Reads a university's list of students: a CSV file as Moodle, Canvas, Excel or nbgrader write it, in any country.

Separators are found by the headings, which may stand below a title. What is not UTF-8 is refused, with the way to save
it: names would be guessed otherwise.
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from pathlib import Path

from autograde.classroom.errors import StepFailed, printable
from autograde.classroom.submissions.one_name import one_form
from autograde.term.lists.headings import (
    CANVAS_ID,
    FIRST,
    IDS,
    LAST,
    NAME,
    NUMBERED,
    SECTION,
    SIS_LOGIN,
    SIS_USER,
    STUDENT,
    meanings,
)

WHO = (*IDS, FIRST, LAST, STUDENT, NAME)  # columns that may have one line of text
POINTS_POSSIBLE = "Points Possible"  # begins a line of Canvas's export that is nobody
TEST_STUDENT = {"test", "student"}  # Canvas's own, whom "Student View" makes
MADE_LOGIN = re.compile(r"[0-9a-f]{32,64}")  # such as Canvas gives to its test student
SHORTENED = re.compile(r"\d([.,]\d+)?E\+\d+", re.IGNORECASE)  # what a spreadsheet makes of a long number
FORMULA_OF_TEXT = re.compile(r'="(.*)"', re.DOTALL)  # how some programs keep a spreadsheet from making it a number
NO_ID = {"-", "\u2013", "\u2014", "n/a", "#n/a", "nan", "null"}  # how programs write that there is none
SEPARATORS = ",;\t|"
SEPARATOR_LINE = re.compile(r'\ufeff?"?sep=(.)"?[,;\t|]*\r?\n', re.IGNORECASE)  # Excel's own first line
TITLES = 10  # lines among which the headings are looked for
HOW_TO_SAVE = (
    'save it as "CSV UTF-8 (Comma delimited)" in Excel, or in LibreOffice as "Text CSV" with the character set '
    "Unicode (UTF-8)"
)
TOTALS = {
    *("total", "totals", "grand total", "sum", "average", "class average", "overall average", "mean"),
    *("median", "count", "maximum", "minimum", "summe", "gesamt", "gesamtsumme", "gesamtergebnis", "durchschnitt"),
    *("gesamtdurchschnitt", "mittelwert", "anzahl", "somme", "moyenne", "moyenne générale", "moyenne globale"),
    *("total général", "effectif", "suma", "promedio", "promedio general", "media", "total general", "somma"),
    *("totale", "totale complessivo", "media complessiva"),
}  # how a line begins that sums up the others


@dataclass(frozen=True)
class StudentList:
    """A list of students. lines: who is on it, by what the columns mean. headings: as the list has them.

    nobody: what stands on lines that are nobody, and that one might take for somebody.
    """

    lines: list[dict[str, str]]
    headings: dict[str, str]
    nobody: list[str]


def read_list(path: Path) -> StudentList:
    """Read the list at `path`. Raises StepFailed."""
    rows = read_rows(path)
    headings, *below = rows
    columns = meanings(headings)
    if not {*columns} & {*IDS}:
        read = " | ".join(printable(heading) for heading in headings if heading) or "none"
        raise StepFailed(
            f"{path} has no column of ids; its headings are read as: {read}; call one of them id, email or {SIS_LOGIN}"
        )
    made = sum(bool(MADE_LOGIN.fullmatch(cell(row, columns.get(SIS_LOGIN)))) for row in below)
    lines, nobody = [], []
    for row in below:
        if row == headings or not any(row):
            continue
        if any(row[len(headings) :]):
            raise StepFailed(
                f"{path}: the line of {printable(row[0])} has {len(row)} cells, there are {len(headings)} headings; "
                "put what has a separator in it into quotation marks"
            )
        line = {name: cell(row, column) for name, column in columns.items()}
        line |= {name: "" for name in IDS if is_no_id(line.get(name, ""))}
        refuse_damaged(path, line)
        if not any(text for name, text in line.items() if name != SECTION) or is_points_possible(line):
            continue
        if is_test_student(line, columns, made == 1) or is_total(row, line):
            nobody.append(" ".join(filter(None, names_in(line))) or next(filter(None, row)))
        else:
            lines.append(line)
    return StudentList(lines, {name: headings[column] for name, column in columns.items()}, nobody)


def read_rows(path: Path) -> list[list[str]]:
    """The cells of a list from its headings on. Raises StepFailed."""
    text = read_text(path)
    given = SEPARATOR_LINE.match(text)
    if given:
        text = text[given.end() :]
    best: tuple[tuple[int, int, int], str, list[list[str]]] | None = None
    for separator in given[1] if given else SEPARATORS:
        try:
            rows = [*csv.reader(io.StringIO(text, newline=""), delimiter=separator)]
        except csv.Error as error:
            raise StepFailed(f"{path} is no CSV file: {error}") from error
        rows = [[clean(each) for each in row] for row in rows if any(map(str.strip, row))]
        for number, row in enumerate(rows[:TITLES]):
            known = meanings(row)
            rating = (len({*known} & {*IDS}) and len(known), len(row) if number == 0 else 0, -number)
            if best is None or rating > best[0]:
                best = rating, separator, rows[number:]
    if best is None:
        raise StepFailed(f"{path} is empty")
    _, separator, rows = best
    if left_open(text, separator):
        raise StepFailed(f"{path}: a quotation mark is not closed in the line of {printable(rows[-1][0][:40])}")
    return rows


def left_open(text: str, separator: str) -> bool:
    """Whether the last cell begins with a quotation mark that nothing closes, so that it has taken the lines below."""
    try:
        for _ in csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True):
            pass
    except csv.Error as error:
        return "unexpected end" in str(error)
    return False


def read_text(path: Path) -> str:
    """The text of a list. Raises StepFailed if it is not UTF-8, with the way to save it."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise StepFailed(f"{path} is not read: {error.strerror or error}") from error
    if content.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
        raise StepFailed(f"{path} is not read: it is a workbook; {HOW_TO_SAVE}")
    if content.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in content:
        raise StepFailed(f"{path} is not read: it is not UTF-8 but UTF-16; {HOW_TO_SAVE}")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        older = "an older encoding, such as Windows-1252"
        raise StepFailed(f"{path} is not read: it is not UTF-8 but {older}; {HOW_TO_SAVE}") from error


def clean(text: str) -> str:
    """A cell without what is around its text."""
    text = one_form(text)
    formula = FORMULA_OF_TEXT.fullmatch(text)
    return formula[1].strip() if formula else text


def cell(row: list[str], column: int | None) -> str:
    """The text of a row in a column; empty if the row is too short, or there is no such column."""
    return row[column] if column is not None and column < len(row) else ""


def is_no_id(text: str) -> bool:
    """Whether this stands where somebody has no id, or numbers somebody on this list only."""
    return text.casefold() in NO_ID or NUMBERED.fullmatch(text) is not None


def refuse_damaged(path: Path, line: dict[str, str]) -> None:
    """Raise StepFailed for an id that a spreadsheet has shortened, or an id or a name that goes over several lines."""
    for name in WHO:
        text = line.get(name, "")
        if name in IDS and SHORTENED.fullmatch(text):
            raise StepFailed(
                f"{path}: a spreadsheet has shortened {text} in the column {name}; format the column as text before "
                "you put the ids into it"
            )
        if "\n" in text or "\r" in text:
            raise StepFailed(f"{path}: a quotation mark is not closed before {printable(text[:40])} in column {name}")


def is_points_possible(line: dict[str, str]) -> bool:
    """Whether this is Canvas's line of the points possible."""
    return POINTS_POSSIBLE in line.get(STUDENT, "") + line.get(LAST, "") and not line.get(CANVAS_ID)


def is_test_student(line: dict[str, str], columns: dict[str, int], one_login: bool) -> bool:
    """Whether this is the test student of Canvas's "Student View". one_login: one line has a login that was made."""
    if line.get(SIS_USER):
        return False
    called = {word.casefold() for name in names_in(line) for word in name.split()} == TEST_STUDENT
    made = any(MADE_LOGIN.fullmatch(line.get(name, "")) for name in IDS)
    return (called and (made or bool({*columns} & {CANVAS_ID, SIS_LOGIN}))) or (
        one_login and bool(MADE_LOGIN.fullmatch(line.get(SIS_LOGIN, "")))
    )


def is_total(row: list[str], line: dict[str, str]) -> bool:
    """Whether a line sums up the others: its first text says so, and there is no other text in it."""
    first = next(filter(None, row))
    word = " ".join(re.sub(r"[\W\d_]+", " ", first).casefold().split())
    return word in TOTALS and not any(re.search(r"[^\W\d_]", text) for text in line.values() if text != first)


def names_in(line: dict[str, str]) -> tuple[str, str]:
    """First and last name on a line of a list, where both may be in one column."""
    both = line.get(STUDENT) or line.get(NAME, "")
    if "," in both or line.get(STUDENT):
        last, _, first = both.partition(",")
    else:
        first, _, last = both.rpartition(" ")
    return line.get(FIRST) or first.strip(), line.get(LAST) or last.strip()
