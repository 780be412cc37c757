"""Totals over all labs: points, or percent with the weakest labs left out and with weights; and how they came about."""

from __future__ import annotations

import csv

import pytest
from classroom import Classroom
from filled_gradebook import add_lab, deadline, filled, hand_in
from reported_class import Page
from small_course import LAB
from traitlets.config import Config

from autograde.classroom.errors import StepFailed
from autograde.term.total import Reached, Rule, rule_of, total

SECOND, THIRD = "91_second", "92_third"
RULE = f"c.Total.drop_lowest = 1\nc.Total.weights = {{{SECOND!r}: 2}}\n"


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Classroom:
    """Three labs of five points. Ada has all, Thora one of them, Li waits for a grading, O'Neil has more time."""
    room = filled(tmp_path_factory.mktemp("totals") / "course")
    for lab in (SECOND, THIRD):
        add_lab(room, lab)
    for lab in (LAB, SECOND, THIRD):
        deadline(room, "2026-01-03 12:00:00", lab)
    for student in ("ada", "li", "o'neil"):
        hand_in(room, student, 2, 2, lab=LAB)
        hand_in(room, student, 1, 1.5, lab=SECOND)
    hand_in(room, "ada", 0, 1, lab=THIRD)
    hand_in(room, "thora", 2, 3, lab=SECOND)
    assert room.lockstep("extend", THIRD, "o'neil", "2999-01-01").exit_code == 0
    with room.gradebook() as gradebook:
        gradebook.update_or_create_submission(THIRD, "li", timestamp="2026-01-02 10:00:00")
    return room


@pytest.fixture
def ruled(room: Classroom) -> Classroom:
    """The same class, where the configuration drops a lab, and one counts twice."""
    return Classroom(room.root, LAB, RULE)


def totals(room: Classroom) -> dict[str, list[str]]:
    """The rows of the report's totals, without the student's name; and the caption."""
    assert room.lockstep("report").exit_code == 0
    page = Page((room.root / "class" / "report.html").read_text(encoding="utf-8"))
    found = {row[0].split()[0]: row[1:] for row in page.tables["totals"]}
    return found | {"words": [" ".join(page.words.split())]}


def marks(room: Classroom, system: str, *options: str) -> tuple[dict[str, dict[str, str]], list[str]]:
    """What `lockstep grades` wrote over all labs, by student or e-mail address, and what it said."""
    result = room.lockstep("grades", "--format", system, *options)
    assert result.exit_code == 0, result.output
    *said, path = result.output.splitlines()
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {row.get("student") or row.get("Email address") or row["Student"]: row for row in rows}, said


def test_without_a_rule_a_total_is_the_sum_of_all_points(room):
    rows = totals(room)
    assert rows["student"][-1] == "total of 15"
    assert rows["ada"] == ["4", "2.5", "1", "7.5"] and rows["thora"][-1] == "5"
    table, _ = marks(room, "csv")
    assert {"points": "7.5", "max": "15", LAB: "4", THIRD: "1"}.items() <= table["ada"].items()
    assert table["thora"]["comment"] == f"{LAB}: 0 of 5; {SECOND}: 5 of 5; {THIRD}: 0 of 5."


def test_the_report_says_how_each_total_came_about(ruled):
    rows = totals(ruled)
    assert rows["student"][1:] == [
        f"{SECOND} of 5 counts 2 ×".replace("_", "_ "),
        "92_ third of 5 counts 1 ×",
        "total in percent",
    ]
    assert rows["ada"] == ["4", "2.5", "1 left out", "60 (80 + 2 × 50) / 3"]
    assert rows["thora"][0] == "– no submission left out" and rows["thora"][-1] == "66.67 (2 × 100 + 0) / 3"
    assert rows["li"][-1] == "80 without 92_ third", "the second is weaker, and the third not graded"
    assert (
        "the weakest lab of each student is left out" in rows["words"][0]
        and "as often as the lab counts" in rows["words"][0]
    )


def test_marks_over_all_labs_are_those_of_the_report_and_are_given_only_where_all_is_settled(ruled):
    table, said = marks(ruled, "moodle")
    assert (table["0@example.org"]["all_labs"], table["4@example.org"]["all_labs"]) == ("60", "66.67")
    assert table["0@example.org"]["all_labs (Feedback)"] == (
        f"{LAB}: 4 of 5; {SECOND}: 2.5 of 5 (counts 2 ×); {THIRD}: 1 of 5 (left out). Percent: (80 + 2 × 50) / 3."
    )
    assert said == [
        "handed in nothing, mark left empty: =1+1; noor",
        "not graded completely, mark left empty: li",
        "has time left for a lab, mark left empty: o'neil",
    ]
    rows, said = marks(ruled, "canvas", "--zero")
    assert rows["Points Possible"]["all_labs"] == "100" and rows["العلي, نور"]["all_labs"] == "0"
    assert said[0] == "handed in nothing, 0 points: =1+1; noor"


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ("c.Total.drop_lowest = -1", "drop_lowest"),
        ("c.Total.drop_lowest = 'one'", "drop_lowest"),
        ("c.Total.weights = {'93_none': 2}", "'93_none', which is no lab here; there are: 90_small, 91_second"),
        ("c.Total.weights = {'90_small': -1}", "weights"),
        ("c.Total.weights = [1, 2]", "weights"),
        ("c.Total.weights = {'90_small': float('nan')}", "cannot count nan times"),
        ("c.Total.weights = dict.fromkeys(['90_small', '91_second'], 0)", "leaves out all labs"),
        ("c.Total.drop_lowst = 1", "not drop_lowst"),
    ],
)
def test_a_rule_that_cannot_be_is_one_line(config, why):
    c = Config()
    exec(config, {"c": c})
    with pytest.raises(StepFailed) as refused:
        rule_of(c, ["90_small", "91_second"])
    assert why in str(refused.value) and "\n" not in str(refused.value)


def reached(*shares: float, points: float = 4, settled: bool = True) -> list[Reached]:
    """Labs called a, b, … in which these shares of the points were reached."""
    return [Reached(chr(ord("a") + at), share * points, points, settled) for at, share in enumerate(shares)]


def test_what_is_dropped_is_the_weakest_share_and_never_the_last_lab():
    few = [Reached("large", 6, 12, True), Reached("small", 1, 4, True)]
    assert total(Rule(drop=1), few).dropped == {"small"}, "3 points were missed there, and 6 in the other"
    assert total(Rule(drop=3), reached(0.5, 1)).dropped == {"a"} and total(Rule(drop=1), reached(0.5)).score == 50
    assert total(Rule(1, {"b": 3}), reached(0.5, 0.5, 1)).dropped == {"b"}, "of two alike, that which counts more"
    assert total(Rule(drop=1), reached(0.5, 1, settled=False)).score is None
    assert total(Rule(weights={"a": 0}), reached(0.5, 1)).score == 100
    assert total(Rule(), []).score is None
