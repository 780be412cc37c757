"""The guide's index of what a check may import is made of docstrings."""

from __future__ import annotations

import autograde.rubric as library
from autograde.labs.places import REPOSITORY
from autograde.rubric.index import lines, reference, with_index


def test_the_guide_lists_all_that_a_check_may_import():
    page = (REPOSITORY / "solutions" / "README.md").read_text(encoding="utf-8")
    assert page == with_index(page), "run `python -m autograde.rubric.index`"
    assert all(len(row.split(" | ")[1].strip()) > 7 for row in lines()[2:])
    named = {row.split("`")[1].partition("(")[0] for row in lines() if row.startswith("| `")}
    assert named == {*library.MODULES}


def test_the_site_has_the_whole_of_it():
    assert (REPOSITORY / "docs" / "rubric.md").read_text(encoding="utf-8") == reference(), (
        "run `python -m autograde.rubric.index`"
    )
