"""The guide's index of judges is made of their docstrings."""

from __future__ import annotations

from autograde.contract.places import REPOSITORY
from autograde.rubric.index import lines, with_index


def test_the_guide_lists_every_judge_of_the_library():
    page = (REPOSITORY / "solutions" / "README.md").read_text(encoding="utf-8")
    assert page == with_index(page), "run `python -m autograde.rubric.index`"
    assert all(len(row.split("|")[3].strip()) > 20 for row in lines()[2:])
