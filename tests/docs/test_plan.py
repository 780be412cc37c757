"""The plan of fourteen weeks in docs/instructors.md: each lecture and lab is in it, with the minutes that it takes."""

from __future__ import annotations

import re

from autograde.labs.places import REPOSITORY

GUIDE = (REPOSITORY / "docs" / "instructors.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (?:\d+|after) \|.*$", GUIDE, re.MULTILINE)
WEEKS = [[cell.strip() for cell in row.split("|")[1:5]] for row in ROWS]  # week, lectures, in class, at home
IN_CLASS = 120


def minutes_of(cells: list[str]) -> dict[str, int]:
    """Minutes by lecture or lab, of all weeks together."""
    found: dict[str, int] = {}
    for cell in cells:
        for name, minutes in re.findall(r"`?(\d+)`? \((\d+)\)", cell):
            found[name] = found.get(name, 0) + int(minutes)
    return found


def test_each_week_fits_into_its_two_hours() -> None:
    assert [week for week, *_ in WEEKS] == [*map(str, range(1, 15)), "after"]
    assert all(sum(minutes_of([in_class]).values()) <= IN_CLASS for _, _, in_class, _ in WEEKS)


def test_each_lab_has_the_minutes_of_the_map() -> None:
    text = (REPOSITORY / "labs" / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[(\d\d) .*\| (\d+)(?: to (\d+))? \| \d+ \|$", text, re.MULTILINE)
    due = {lab: (int(least) + int(most or least)) // 2 for lab, least, most in rows}
    planned = minutes_of([cell for _, _, *cells in WEEKS for cell in cells])
    assert {lab: planned.get(lab) for lab in due} == due
    assert sum(planned.values()) // 60 == int(re.search(r"fourteen labs take about (\d+) hours", GUIDE)[1])


def test_each_lecture_is_read_once_with_its_minutes_and_before_its_labs() -> None:
    said = re.search(r"begin with lecture (1) \((\d+)\)", GUIDE)
    read = {said[1]: int(said[2])} | minutes_of([lectures for _, lectures, _, _ in WEEKS])
    due, labs_of = {}, {}
    for path in sorted((REPOSITORY / "course" / "lectures").glob("[0-9]*.md")):
        due[str(int(path.name[:2]))] = int(
            re.search(r"It takes about (\d+) minutes", path.read_text(encoding="utf-8"))[1]
        )
    assert read == due
    index = (REPOSITORY / "course" / "lectures" / "index.md").read_text(encoding="utf-8")
    for row in re.findall(r"^\| \[\d+ .*$", index, re.MULTILINE):
        labs_of[re.match(r"\| \[(\d+)", row)[1]] = re.findall(r"\[(\d\d)\]", row)
    week_of = {name: week for week, (_, lectures, _, _) in enumerate(WEEKS) for name in minutes_of([lectures])} | {
        "1": 0
    }
    last_of = {lab: week for week, (_, _, *cells) in enumerate(WEEKS) for lab in minutes_of(cells)}
    late = [(lecture, lab) for lecture, labs in labs_of.items() for lab in labs if week_of[lecture] > last_of[lab]]
    assert late == []


def test_the_sums_are_right() -> None:
    at_class, at_home = (sum(minutes_of([row[place] for row in WEEKS]).values()) for place in (2, 3))
    lectures = sum(minutes_of([row[1] for row in WEEKS]).values())
    assert (at_class / 60, at_home / 60, round(lectures / 60)) == (26.25, 8.75, 6)
