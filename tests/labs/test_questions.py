"""The questions at each lab's end: their key is true, students get no answer that a person grades."""

from __future__ import annotations

import json

import pytest
import torch
from labs_under_test import OURS
from small_course import LAB, LAB_PY, make_course

from autograde.labs.folder import Lab, LabError, find_lab
from autograde.labs.questions import blank, is_number, is_text, read_questions
from autograde.making.build import build, instructor_notebook, worked_in, write
from autograde.making.cell_marks import NO_POINTS, tell_points
from course.models.digits import digit_model

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


def expected(lab: str, name: str) -> float:
    """The right number in a lab's key."""
    return next(read_questions(one.folder)[name].right.value for one in OURS if one.name.startswith(lab))


def test_the_smallest_learning_rate_of_lab_01_is_the_first_with_which_the_full_batch_ends_higher():
    generator = torch.Generator().manual_seed(0)
    x = 4 * torch.rand(48, generator=generator, dtype=torch.float64) - 1
    y = 1.5 * x - 0.5 + 0.8 * torch.randn(48, generator=generator, dtype=torch.float64)

    def ends_higher(lr: float) -> bool:
        m, n = -2.0, 1.5
        first = ((m * x + n - y) ** 2).mean()
        for _ in range(20):
            error = m * x + n - y
            m, n = m - lr * 2 * (error * x).mean(), n - lr * 2 * error.mean()
        return bool(((m * x + n - y) ** 2).mean() > first)

    assert next(k for k in range(5, 100) if ends_higher(k / 100)) / 100 == expected("01", "smallest_lr")


def test_the_number_of_intervals_of_lab_03_is_the_smallest_that_is_close_enough():
    def error(intervals: int) -> float:
        middles = (torch.arange(intervals, dtype=torch.float64) + 0.5) / intervals
        return abs(float((4 / (1 + middles**2)).sum()) / intervals - torch.pi)

    number = int(expected("03", "nine_digits"))
    assert error(number) < 1e-9 < error(number - 1)


def test_the_bytes_of_lab_07_are_those_of_its_models_gradients():
    weights = sum(each.numel() * each.element_size() for each in digit_model(0).parameters())
    assert weights == expected("07", "bytes_per_step")


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
