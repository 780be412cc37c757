"""Hostile submissions get exactly what they deserve, harm nobody, and leave nothing behind."""

from __future__ import annotations

import pytest
from attack import POINTS, Attack
from catalogue import GROUPS, chosen
from harness import NEIGHBOURS

pytestmark = pytest.mark.timeout(3600)  # two gradings: only one that hangs takes as long
ATTACKS = [
    pytest.param(
        *(group, attack),
        id=f"{group}-{attack.name}",
        marks=[] if chosen(group, attack.name) else pytest.mark.thorough,
    )
    for group, attacks in GROUPS.items()
    for attack in attacks
]
EXPECTED = {
    "ada": ("graded", "5", "2", "3", ""),
    "bob": ("graded", "1.5", "1.5", "0", "double:sign-lost; total:not-total"),
    "zoe": ("graded", "5", "2", "3", ""),
}


@pytest.mark.parametrize(("group", "attack"), ATTACKS)
def test_an_attack_gets_exactly_what_it_deserves(seen, group: str, attack: Attack):
    row = seen(group).rows[attack.name]
    findings: dict[str, set[str]] = {todo: set() for todo in POINTS}
    for found in filter(None, row["findings"].split("; ")):
        todo, _, key = found.partition(":")
        findings[todo].add(key)
    got = {todo: (float(row[todo]) if row[todo] else None, findings[todo]) for todo in POINTS}
    assert got in attack.expected, row
    waits = attack.manual or None in {score for score, _ in attack.scores.values()}
    assert row["status"] == ("needs manual grading" if waits else "graded"), row
    assert attack.problem in row["problems"]
    assert attack.problem or waits or not row["problems"], row


@pytest.mark.parametrize("group", GROUPS)
def test_the_neighbours_get_what_they_deserve_too(seen, group: str):
    with_them = seen(group)
    columns = ("status", "score", "double", "total", "findings")
    assert {name: tuple(with_them.rows[name][column] for column in columns) for name in NEIGHBOURS} == EXPECTED
    assert {row[0] for row in with_them.grades} == {*NEIGHBOURS, *with_them.attackers}


@pytest.mark.thorough  # grades a second class
@pytest.mark.parametrize("group", GROUPS)
def test_gradebook_and_files_are_as_without_attackers(seen, group: str):
    with_them, without = seen(group), seen("")
    assert with_them.of(*NEIGHBOURS) == without.grades
    assert (with_them.schema, with_them.mode) == (without.schema, without.mode)
    assert with_them.changed - without.changed == set()


@pytest.mark.parametrize(("group", "student"), [("lies", "script"), ("notebooks", "more-cells")])
def test_no_script_gets_into_a_feedback_page(seen, group: str, student: str):
    page = seen(group).place.room.feedback(student)
    assert "<script>alert(" not in page and "<img src=x" not in page


@pytest.mark.parametrize("group", GROUPS)
def test_the_grading_comes_to_its_end(seen, group: str):
    assert seen(group).status == 0, seen(group).output


@pytest.mark.parametrize("group", GROUPS)
def test_nothing_is_left_behind_and_nobody_is_reached(seen, group: str):
    after = seen(group)
    assert (after.left, after.reached, after.leaked) == ([], [], [])
