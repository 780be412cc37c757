"""Students are found by each spelling of their names, and nobody is taken for another."""

from __future__ import annotations

import pytest
from nbgrader.api import Student

from autograde.term.lists.full_names import match_all


def student(name: str, identity: str = "zk42", email: str = "") -> Student:
    """A student in a gradebook, enrolled as `name`: first names, then the last name."""
    first, _, last = name.rpartition(" ")
    return Student(id=identity, first_name=first, last_name=last or identity, email=email)


def found(names: list[str], students: list[Student]) -> list[str]:
    """Who each of the names is; those who may be, where that is not clear."""
    matches = match_all({name: (name,) for name in names}, students)
    return [" or ".join(matches[name].students) if name in matches else "" for name in names]


@pytest.mark.parametrize(
    ("name", "enrolled"),
    [
        ("OBrien-Smith Siobhán", "Siobhán O\u2019Brien-Smith"),
        ("Siobhán OBrien-Smith", "Siobhán O'Brien-Smith"),
        ("OBrien-Smith, Siobhán", "Siobhán O'Brien-Smith"),
        ("Siobhan OBrien Smith", "Siobhán O'Brien-Smith"),
        ("Zoe\u0308 Kravitz", "Zoë Kravitz"),
        ("Zoe Kravitz", "Zoë Kravitz"),
        ("Juergen Gross", "Jürgen Groß"),
        ("JÜRGEN GROSS", "Jürgen Groß"),
        ("Soren Osterlokke", "Søren Østerløkke"),
        ("Kravitz Zoë Isabella", "Zoë Kravitz"),
        ("Dr. Zoë Kravitz", "Zoë Kravitz"),
        ("Zoë Kravitz", "Zoë Isabella Kravitz"),
        ("Zoë\u00a0Kravitz\u200b", "Zoë Kravitz"),
        ("\uff3a\uff2f\uff25 Kravitz", "Zoe Kravitz"),
        ("Maximilian Alexander Freih", "Maximilian Alexander Freiherr von und zu Guttenberg"),
        ("\u674e\u96f7", "\u96f7 \u674e"),
        ("\u674e \u96f7", "\u96f7 \u674e"),
        ("zk42", "Zoë Kravitz"),
        ("zk42 Zoë Kravitz", "Zoë Kravitz"),
        ("Suharto .", "Suharto"),
        ("Ana María García López", "Ana María García"),
    ],
)
def test_one_student_is_found_by_each_spelling_of_the_name(name, enrolled):
    assert found([name], [student(enrolled), student("Ada Lovelace", "s1")]) == ["zk42"]


def test_names_that_are_not_clear_find_nobody():
    cases = {
        "Max Kim": ["a Max Kim", "b Max Kim"],
        "Max Planck": ["max "],
        "Anne-Marie Curie": ["a Marie Curie"],
        "Maria de Lima Silva": ["a Maria Lima", "b Maria Silva"],
        "Team 1-Ada Lovelace": ["a Ada Byron"],
        "Team 2-Ada Lovelace": ["a Ada Lovelace"],  # may be a double name
        "Ada": ["a Ada Lovelace"],
        "": ["a Ada Lovelace"],
    }
    for name, enrolled in cases.items():
        students = [student(each.partition(" ")[2], each.partition(" ")[0]) for each in enrolled]
        assert found([name], students)[0] in ("", "a or b"), name


def test_whoever_is_surely_somebody_is_not_taken_for_another():
    students = [student("Maria Silva", "s1"), student("Maria Costa Silva", "s2")]
    assert found(["Maria Costa da Silva"], students) == ["s1 or s2"]
    assert found(["Maria Costa da Silva", "Maria Silva"], students) == ["s2", "s1"]


def test_an_address_or_an_id_tells_two_of_one_name_apart():
    students = [student("Max Kim", "s3"), student("Max Kim", "s4", "kim.max@uni.example"), student("", "ada.lovelace")]
    names = ["kim.max@uni.example Max Kim", "Max Kim s3", "Ada Lovelace"]
    assert found(names, students) == ["s4", "s3", "ada.lovelace"]


def test_members_of_a_group_are_found_where_their_names_are_behind_it():
    students = [student("Ada Lovelace", "s1"), student("Zoë de la Cruz", "s2")]
    names = ["Team 1-A-Ada Lovelace", "Team 1-A-Zoë de la Cruz", "Team 2", "Default group"]
    assert found(names, students) == ["s1", "s2", "", ""]
