"""What is graded of a submission, for every kind of damage. Pure functions: no notebook is run here."""

from __future__ import annotations

import copy
import json
import random

import nbformat
import pytest
from nbformat import NotebookNode
from nbgrader.utils import compute_checksum
from notebook_damage import damage
from small_course import ANSWERS, LAB, make_course

from autograde.classroom.nbgrader_steps import with_problems
from autograde.classroom.submissions.rebuild import MAX_SOURCE, Rebuilt, rebuild
from autograde.classroom.submissions.submission import answers
from autograde.labs.folder import find_lab
from autograde.making.build import instructor_notebook, release

DOUBLE, TOTAL = ANSWERS["double"], ANSWERS["total"]


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> NotebookNode:
    """The lab as students get it."""
    return release(instructor_notebook(find_lab(make_course(tmp_path_factory.mktemp("course")), LAB)))


@pytest.fixture
def submitted(released: NotebookNode) -> NotebookNode:
    """The lab with both answers in it."""
    notebook = copy.deepcopy(released)
    for name, source in ANSWERS.items():
        cell(notebook, name).source = source
    return notebook


def cell(notebook: NotebookNode, name: str) -> NotebookNode:
    """The cell with this id."""
    return next(cell for cell in notebook.cells if cell.id == name)


def remade(released: NotebookNode, notebook: dict | bytes | None) -> Rebuilt:
    """What becomes of `notebook`, which need not be valid."""
    raw = notebook if notebook is None or isinstance(notebook, bytes) else json.dumps(notebook).encode()
    return rebuild(released, raw, LAB)


def graded(rebuilt: Rebuilt) -> dict[str, str | None]:
    """Source text that is graded, by TODO; None where it is as released."""
    sources, blank = answers(rebuilt.notebook)
    return {todo: None if todo in blank else source for todo, source in sources.items()}


def without(notebook: NotebookNode, *names: str) -> NotebookNode:
    """A copy without some cells."""
    less = copy.deepcopy(notebook)
    less.cells = [cell for cell in less.cells if cell.id not in names]
    return less


def test_a_sound_submission_is_taken_as_it_is(released, submitted):
    rebuilt = remade(released, submitted)
    assert graded(rebuilt) == ANSWERS
    assert (rebuilt.problems, rebuilt.manual) == ([], None)


def test_an_untouched_notebook_is_blank_and_no_problem(released):
    rebuilt = remade(released, released)
    assert graded(rebuilt) == {"double": None, "total": None}
    assert (rebuilt.problems, rebuilt.manual) == ([], None)


def test_rebuilding_changes_neither_the_released_notebook_nor_anything_but_answers(released, submitted):
    before = copy.deepcopy(released)
    rebuilt = remade(released, submitted)
    assert released == before
    for mine, theirs in zip(rebuilt.notebook.cells, released.cells, strict=True):
        assert mine.metadata == theirs.metadata
        assert mine.source == ANSWERS.get(mine.id, theirs.source)


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"", "is empty"),
        (b"  \n", "is empty"),
        (b"{ not json", "is not JSON: line 1"),
        (b'{"cells": [', "is not JSON: line 1"),
        (b"\x80\x81\xfe", "is not JSON: byte 0 is not UTF-8"),
        ('{"cells": []}'.encode("utf-16"), "is not JSON: byte 0 is not UTF-8"),
        (b"[" * 100_000, "is not JSON: RecursionError"),
        (b'{"a": ' + b"9" * 5000 + b"}", "is not JSON: ValueError"),
        (b"[]", "is JSON, but not a notebook"),
        (b'"text"', "is JSON, but not a notebook"),
        (b"null", "is JSON, but not a notebook"),
        (b"{}", "is JSON, but not a notebook"),
        (b'{"cells": {"0": {}}}', "is JSON, but not a notebook"),
        (b'{"worksheets": [{"cells": []}], "nbformat": 3}', "is JSON, but not a notebook"),
        (b"PK\x03\x04\x14\x00\x08\x08", "is not JSON"),
        (b"<<<<<<< HEAD\n{}", "is not JSON: line 1"),
    ],
)
def test_a_file_that_is_no_notebook_is_blank_and_waits_for_a_person(released, raw, said):
    rebuilt = remade(released, raw)
    assert graded(rebuilt) == {"double": None, "total": None}
    (problem,) = rebuilt.problems
    assert problem.startswith(f"{LAB}: {LAB}.ipynb {said}")
    assert problem.endswith("; it is graded as blank, 0 of 5 points")
    assert rebuilt.manual is not None and said in rebuilt.manual


def test_a_byte_order_mark_does_no_harm(released, submitted):
    rebuilt = remade(released, b"\xef\xbb\xbf" + json.dumps(submitted).encode())
    assert (graded(rebuilt), rebuilt.problems) == (ANSWERS, [])


def test_a_missing_notebook_is_blank(released):
    rebuilt = remade(released, None)
    assert graded(rebuilt) == {"double": None, "total": None}
    assert rebuilt.problems == [f"{LAB}: there is no {LAB}.ipynb in the submission; 0 of 5 points"]
    assert rebuilt.manual is None


def test_a_missing_notebook_beside_another_one_waits_for_a_person(released):
    rebuilt = rebuild(released, None, LAB, ("My <b>copy</b>.ipynb",))
    assert rebuilt.problems == [
        f"{LAB}: there is no {LAB}.ipynb in the submission; 0 of 5 points; handed in: `My ?b?copy??b?.ipynb`"
    ]
    assert rebuilt.manual == "other notebooks were handed in"


def test_a_missing_cell_is_put_back_empty_and_costs_its_own_points(released, submitted):
    rebuilt = remade(released, without(submitted, "double"))
    assert graded(rebuilt) == {"double": None, "total": TOTAL}
    assert rebuilt.problems == [f"{LAB}: cell `double` is missing; it is put back empty, 0 of 2 points"]
    assert rebuilt.manual is None


def test_a_missing_check_costs_nothing(released, submitted):
    rebuilt = remade(released, without(submitted, "double-check"))
    assert graded(rebuilt) == ANSWERS
    assert rebuilt.problems == [f"{LAB}: cell `double-check` is missing; the lab's own is used"]


def test_a_changed_check_has_no_effect(released, submitted):
    cell(submitted, "total-check").source = "5"
    rebuilt = remade(released, submitted)
    assert cell(rebuilt.notebook, "total-check").source == 'check("total")'
    assert rebuilt.problems == [f"{LAB}: cell `total-check` was changed; the lab's own is used"]


def test_changed_and_missing_locked_cells_have_no_effect_and_are_no_problem(released, submitted):
    cell(submitted, "start-2").source = "import os"
    rebuilt = remade(released, without(submitted, "start-1"))
    assert [cell.source for cell in rebuilt.notebook.cells if cell.id.startswith("start")] == [
        cell.source for cell in released.cells if cell.id.startswith("start")
    ]
    assert remade(released, submitted).problems == []


@pytest.mark.parametrize("order", ["before", "after"])
def test_of_several_cells_the_last_that_was_written_in_is_graded(released, submitted, order):
    original = cell(submitted, "double")
    other = copy.deepcopy(original)
    other.id, other.source = "a1b2c3", "def double(x):\n    return x"
    where = submitted.cells.index(original) + (order == "after")
    submitted.cells.insert(where, other)
    rebuilt = remade(released, submitted)
    assert graded(rebuilt)["double"] == (other.source if order == "after" else DOUBLE)
    assert rebuilt.problems == [f"{LAB}: cell `double` is there 2 times; the last one that was written in is graded"]


@pytest.mark.parametrize(
    "halves",
    [
        ("HALF = 2", "def double(x):\n    return HALF * x"),
        ("def double(x):", "    return 2 * x"),
        ("def double(x):\n    return helper(x)", "def helper(x):\n    return 2 * x"),
    ],
)
def test_the_halves_of_a_split_cell_are_graded_together(released, submitted, halves):
    index = submitted.cells.index(cell(submitted, "double"))
    second = copy.deepcopy(submitted.cells[index])
    submitted.cells[index].source, second.source, second.id = *halves, "other"
    submitted.cells.insert(index + 1, second)
    rebuilt = remade(released, submitted)
    assert graded(rebuilt) == ANSWERS | {"double": "\n".join(halves)}
    assert "split into 2; they are graded together" in rebuilt.problems[0]


@pytest.mark.parametrize("lost", ["blank", "missing"])
def test_an_answer_in_a_new_cell_is_graded_where_its_own_is_blank_or_missing(released, submitted, lost):
    index = submitted.cells.index(cell(submitted, "double"))
    submitted.cells.insert(index + 1, nbformat.v4.new_code_cell("1 + 1"))
    submitted.cells.insert(index + 1, nbformat.v4.new_code_cell(DOUBLE))
    if lost == "blank":
        submitted.cells[index].source = cell(released, "double").source
    else:
        del submitted.cells[index]
    rebuilt = remade(released, submitted)
    assert graded(rebuilt) == ANSWERS
    assert "another cell that defines it is graded in its place" in rebuilt.problems[0]


def test_an_answer_in_a_new_cell_does_not_replace_one_in_its_own(released, submitted):
    submitted.cells.append(nbformat.v4.new_code_cell("def double(x):\n    return 3 * x"))
    assert graded(remade(released, submitted)) == ANSWERS


def test_a_notebook_without_any_tags_and_ids_is_graded_by_what_its_cells_define(released, submitted):
    for number, one in enumerate(submitted.cells):
        one.metadata, one.id = {}, f"cell-{number}"
    rebuilt = remade(released, submitted)
    assert graded(rebuilt) == ANSWERS
    assert len([problem for problem in rebuilt.problems if "graded in its place" in problem]) == 2


@pytest.mark.parametrize(
    "begun", ["def double(x):\n    # later\n    raise NotImplementedError()", "double(3)", "# mine is below"]
)
def test_an_answer_in_a_new_cell_is_graded_where_its_own_has_none(released, submitted, begun):
    submitted.cells.append(nbformat.v4.new_code_cell(DOUBLE))
    cell(submitted, "double").source = begun
    whole = "" if "def" in begun else f"{begun}\n"
    rebuilt = remade(released, submitted)
    assert graded(rebuilt) == ANSWERS | {"double": whole + DOUBLE}
    assert len(rebuilt.problems) == 1 and "`double`" in rebuilt.problems[0]


def test_of_a_cell_split_by_an_editor_that_drops_tags_both_halves_are_graded(released, submitted):
    mine = cell(submitted, "double")
    mine.source = "HALF = 2"
    below = nbformat.v4.new_code_cell("def double(x):\n    return HALF * x")
    submitted.cells.insert(submitted.cells.index(mine) + 1, below)
    rebuilt = remade(released, submitted)
    assert graded(rebuilt)["double"] == f"HALF = 2\n{below.source}"
    assert "it and the cell that does are graded together" in rebuilt.problems[0]


@pytest.mark.parametrize("kept", ["double", "double-check"])
def test_what_was_merged_into_another_cell_is_graded(released, submitted, kept):
    both = f"{DOUBLE}\n\n{TOTAL}"
    if kept == "double":
        cell(submitted, "double").source = both
        rebuilt = remade(released, without(submitted, "total"))
        assert graded(rebuilt) == {"double": both, "total": both}
    else:
        cell(submitted, "double-check").source = f"{DOUBLE}\n\ncheck('double')"
        rebuilt = remade(released, without(submitted, "double"))
        assert graded(rebuilt) == ANSWERS | {"double": f"{DOUBLE}\n\ncheck('double')"}
    assert any("another cell that defines it is graded in its place" in problem for problem in rebuilt.problems)


def test_a_blank_copy_does_not_hide_a_written_one(released, submitted):
    copied = copy.deepcopy(cell(released, "double"))
    copied.id = "a1b2c3"
    submitted.cells.append(copied)
    assert graded(remade(released, submitted)) == ANSWERS


def test_a_cell_without_its_tag_is_found_by_its_id(released, submitted):
    del cell(submitted, "double").metadata["nbgrader"]
    rebuilt = remade(released, submitted)
    assert graded(rebuilt) == ANSWERS
    assert rebuilt.problems == [
        f"{LAB}: cell `double` has lost its nbgrader tag; it was found by its cell id, and is graded"
    ]


def test_a_cell_that_took_another_ones_tag_does_not_count_as_both(released, submitted):
    cell(submitted, "double").metadata.nbgrader.grade_id = "total"
    rebuilt = remade(released, without(submitted, "total"))
    assert graded(rebuilt) == {"double": None, "total": DOUBLE}


@pytest.mark.parametrize(
    ("key", "value"), [("locked", True), ("solution", False), ("grade", True), ("points", 100), ("points", "many")]
)
def test_other_tags_have_no_effect(released, submitted, key, value):
    cell(submitted, "double").metadata.nbgrader[key] = value
    rebuilt = remade(released, submitted)
    assert graded(rebuilt) == ANSWERS
    assert cell(rebuilt.notebook, "double").metadata == cell(released, "double").metadata
    assert rebuilt.problems == [f"{LAB}: cell `double` was retagged; the tags have no effect"]


def test_more_points_on_a_check_have_no_effect(released, submitted):
    cell(submitted, "double-check").metadata.nbgrader.points = 100
    rebuilt = remade(released, submitted)
    assert cell(rebuilt.notebook, "double-check").metadata.nbgrader.points == 2


def test_what_the_lab_changed_since_it_was_fetched_is_no_problem_of_the_student(released, submitted):
    now = copy.deepcopy(released)
    cell(now, "double").source = cell(now, "double").source.replace("def", "# Mended.\ndef")
    cell(now, "double").metadata.nbgrader.points = 2
    cell(now, "double-check").source = "check('double')  # mended"
    for name in ("double", "double-check"):
        cell(now, name).metadata.nbgrader.checksum = compute_checksum(cell(now, name))
    rebuilt = remade(now, submitted)
    assert rebuilt.problems == [] and graded(rebuilt)["double"] == DOUBLE


def test_a_cell_turned_into_markdown_is_graded_as_code(released, submitted):
    cell(submitted, "double").cell_type = "markdown"
    rebuilt = remade(released, submitted)
    assert graded(rebuilt) == ANSWERS
    assert cell(rebuilt.notebook, "double").cell_type == "code"
    assert rebuilt.problems == [f"{LAB}: cell `double` was turned into a `markdown` cell; its text is graded as code"]


def test_a_moved_cell_is_graded_in_its_own_place(released, submitted):
    mine = cell(submitted, "total")
    submitted.cells.remove(mine)
    submitted.cells.insert(0, mine)
    rebuilt = remade(released, submitted)
    assert graded(rebuilt) == ANSWERS
    assert [cell.id for cell in rebuilt.notebook.cells] == [cell.id for cell in released.cells]
    (problem,) = rebuilt.problems
    assert problem.endswith("was moved; it is graded in its own place")


def test_another_labs_notebook_earns_nothing_and_is_named(released, submitted):
    for there in submitted.cells:
        if "nbgrader" in there.metadata:
            there.metadata.nbgrader.grade_id = there.id = f"other-{there.id}"
    rebuilt = remade(released, submitted)
    assert graded(rebuilt) == {"double": None, "total": None}
    assert rebuilt.problems == [
        f"{LAB}: the notebook is for another lab: its cells are `other-double`, `other-total`; 0 of 5 points"
    ]


def test_a_notebook_with_cells_of_no_lab_is_named(released):
    rebuilt = remade(released, nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 + 1")]))
    assert rebuilt.problems == [f"{LAB}: the notebook has none of this lab's cells; 0 of 5 points"]


@pytest.mark.parametrize("source", [None, 7, {"a": 1}, ["one", 2]])
def test_a_cell_whose_text_is_not_text_is_put_back_empty(released, submitted, source):
    cell(submitted, "double")["source"] = source
    rebuilt = remade(released, submitted)
    assert graded(rebuilt) == {"double": None, "total": TOTAL}
    assert rebuilt.problems == [f"{LAB}: cell `double` has no readable text; it is put back empty, 0 of 2 points"]


def test_a_cell_that_is_too_long_is_put_back_empty(released, submitted):
    cell(submitted, "double").source = "#" * (MAX_SOURCE + 1)
    rebuilt = remade(released, submitted)
    assert graded(rebuilt)["double"] is None
    assert rebuilt.problems == [
        f"{LAB}: cell `double` has 100,001 characters, more than 100,000; it is put back empty, 0 of 2 points"
    ]


def test_half_a_surrogate_pair_can_be_written_to_a_file(released, submitted):
    cell(submitted, "double").source = DOUBLE + "  # \ud800"
    rebuilt = remade(released, submitted)
    assert graded(rebuilt)["double"] == DOUBLE + "  # ?"
    nbformat.writes(rebuilt.notebook).encode()
    assert rebuilt.problems == [f"{LAB}: cell `double` has characters that are no text; they are replaced by ?"]


def test_line_ends_of_another_system_are_no_change(released):
    other = copy.deepcopy(released)
    for there in other.cells:
        there.source = there.source.replace("\n", "\r\n")
    rebuilt = remade(released, other)
    assert (graded(rebuilt), rebuilt.problems) == ({"double": None, "total": None}, [])


def test_problems_stand_at_the_top_of_a_valid_notebook(released, submitted):
    notebook = with_problems(remade(released, without(submitted, "double")))
    nbformat.validate(notebook)
    assert "cell `double` is missing" in notebook.cells[0].source
    assert "nbgrader" not in notebook.cells[0].metadata


def test_whatever_the_damage_each_todo_is_the_students_own_text_or_blank_and_named(released, submitted):
    for seed in range(300):
        raw = damage(json.loads(json.dumps(submitted)), random.Random(seed))
        rebuilt = remade(released, raw)
        nbformat.validate(rebuilt.notebook)
        assert [cell.id for cell in rebuilt.notebook.cells] == [cell.id for cell in released.cells]
        lost = [todo for todo, source in graded(rebuilt).items() if source is None]
        assert not lost or rebuilt.problems, seed
        assert all(problem.startswith(f"{LAB}: ") and "\n" not in problem for problem in rebuilt.problems), seed
