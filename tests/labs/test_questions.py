"""The questions at each lab's end: their key is true, students get no answer that a person grades."""

from __future__ import annotations

import json

import pytest
from labs_under_test import OURS
from small_course import LAB, LAB_PY, make_course

from autograde.labs.folder import Lab, LabError, find_lab
from autograde.labs.questions import blank, is_number, is_text, read_questions
from autograde.making.build import build, instructor_notebook, worked_in, write
from autograde.making.cell_marks import NO_POINTS, tell_points

each_of_ours = pytest.mark.parametrize("lab", OURS, ids=[lab.name for lab in OURS])
NUMBER = '\n# %% answer="smallest"\ncheck.answer("smallest", None)\n'
TEXT = '\n# %% [markdown] answer="why" points=2\n# Because the sum is over all ranks.\n'
KEY = (
    '[smallest]\nvalue = 0.5\ntolerance = 0.01\nremark = "Well seen."\nwrong = [{value = 2, remark = "Upside down."}]\n'
)


def cells(lab: Lab, kind) -> list:
    """The cells of a lab's questions of one kind, with the instructor's answers."""
    return [cell for cell in instructor_notebook(lab).cells if kind(cell.metadata.get("nbgrader", {}))]


@each_of_ours
def test_each_lab_asks_for_a_number_and_for_a_text_and_knows_both(lab):
    numbers, texts = cells(lab, is_number), cells(lab, is_text)
    assert numbers and texts
    for cell in numbers:
        question = read_questions(lab.folder)[cell.id]
        assert " is right. " in question.judge(question.right.value)
        assert len(question.wrong) >= 3
        for wrong in question.wrong:
            assert question.judge(wrong.value).endswith(f"is not right. {wrong.remark}")
    released = build(lab).student[lab.notebook].content.decode()
    for cell in texts:
        assert len(cell.source) > 200
        assert [line for line in cell.source.splitlines() if json.dumps(line)[1:-1] in released] == []


@each_of_ours
def test_each_lab_says_that_its_questions_count_no_points_until_a_text_counts_some(lab):
    notebook = instructor_notebook(lab)
    assert sum(NO_POINTS in cell.source for cell in notebook.cells) == 1
    for cell in notebook.cells:
        if is_text(tag := cell.metadata.get("nbgrader", {})):
            tag["points"] = 1.5
    tell_points(notebook)
    told = "The number counts no points; the text counts 1.5."
    assert [cell.source.count(told) for cell in notebook.cells if told in cell.source or NO_POINTS in cell.source] == [
        1
    ]


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("0.5", "0.5 is right. Well seen."),
        ("1 / 2", "0.5 is right. Well seen."),
        ("-(2 - 2.505)", "0.505 is right. Well seen."),
        ("2", "2 is not right. Upside down."),
        ("3", "3 is not right. Look once more at what your run shows."),
        ("None", "not answered yet."),
        ("lr", "Write the number itself"),
        ("'0.5'", "Write the number itself"),
        ("0,5", "A number has a decimal point, 0.5, not a comma."),
        ("-1142,09", "A number has a decimal point, -1142.09, not a comma."),
        ("True", "Write the number itself"),
        ("1 / 0", "not read."),
        ("9e999", "not read."),
        ("2 ** 9999999", "Write the number itself"),
        ("0.5); print(", "not read."),
        ("+" * 600 + "1", "not read."),
        ("9" * 5000, "not read."),
    ],
)
def test_what_is_said_to_a_number(tmp_path, written, said):
    (tmp_path / "questions.toml").write_text(KEY)
    question = read_questions(tmp_path)["smallest"]
    assert said in question.answer_to(blank("smallest").replace("None", written))


@pytest.mark.parametrize(
    ("lab", "key", "said"),
    [
        (NUMBER, "", "question `smallest` has no table [smallest] in questions.toml"),
        ("", KEY, 'question `smallest` has no cell `# %% answer="smallest"`'),
        (NUMBER.replace("None", "0.5"), KEY, 'must be: check.answer("smallest", None)'),
        (NUMBER.replace('="smallest"', '="so small"'), KEY, "'so small' cannot be the name of an answer"),
        (TEXT.replace("points=2", "points=-1"), "", "`why` is worth -1 points"),
        (NUMBER, KEY.replace("value = 2", "value = 0.5"), "one of the wrong numbers is right"),
        (NUMBER, KEY.replace("tolerance", "about"), "[smallest]: it takes `value` and `remark`"),
        (NUMBER, KEY.replace("0.5", '"half"'), "[smallest]: could not convert string to float"),
        (NUMBER, "smallest = 1", "[smallest]: it must be a table"),
        (NUMBER, "[smallest", "questions.toml: "),
    ],
)
def test_what_is_wrong_with_a_question_is_named(tmp_path, lab, key, said):
    course = make_course(tmp_path, LAB_PY + lab)
    if key:
        (course / "solutions" / LAB / "questions.toml").write_text(key)
    with pytest.raises(LabError) as error:
        build(find_lab(course, LAB))
    assert str(error.value).startswith(LAB) and said in str(error.value)


@pytest.mark.parametrize(("old", "new", "cell"), [("None", "0.5", "smallest"), ("YOUR ANSWER HERE", "So.", "why")])
def test_building_again_overwrites_no_answer(tmp_path, old, new, cell):
    course = make_course(tmp_path, LAB_PY + NUMBER + TEXT)
    (course / "solutions" / LAB / "questions.toml").write_text(KEY)
    built = build(find_lab(course, LAB))
    write(built, course)
    path = course / "labs" / LAB / f"{LAB}.ipynb"
    assert worked_in(path) == []
    path.write_text(path.read_text().replace(old, new))
    assert worked_in(path) == [cell]
    with pytest.raises(LabError, match=f"has work in cell {cell}"):
        write(built, course)
