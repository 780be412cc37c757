"""Answers in words, scored all at once: what is saved, what is refused, and what somebody else changed meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest
from changing_lab import graded_without_sandboxes, without_sandboxes
from classroom import Classroom
from nbgrader.api import Comment, Grade
from small_course import ANSWERS, LAB, LAB_PY, make_course

from autograde.classroom.nbgrader_course import Course
from autograde.classroom.texts.scoring import Answer, Question, SaveResult, others_to_look_at, questions_of, save
from autograde.labs.folder import find_lab

QUESTIONS = """
# %% [markdown]
# **Why** do they add?

# %% [markdown] answer="why" points=2
# The model answer.

# %% [markdown] answer="opinion"
# Any.
"""
LATER = "2025-01-02 10:00:00.000000 UTC"


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Classroom:
    """A class that is graded, without ranks: ada and bob have answered, cleo has not. It is copied, and not changed."""
    room = Classroom(make_course(tmp_path_factory.mktemp("graded") / "course", LAB_PY + QUESTIONS), LAB)
    assert room.lockstep("build").exit_code == 0
    room.put("ada", room.answered(ANSWERS | {"why": "All ranks **add**.", "opinion": "Fine."}))
    room.put("bob", room.answered(ANSWERS | {"why": "No idea."}))
    room.put("cleo", room.answered({}))
    return graded_without_sandboxes(room)


@pytest.fixture
def room(graded: Classroom, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Classroom:
    """A class of its own, which is graded without ranks from now on, too."""
    room = graded.copied(tmp_path)
    without_sandboxes(monkeypatch)
    for name, value in room.environment.items():
        monkeypatch.setenv(name, value)
    return room


def questions(room: Classroom) -> dict[str, Question]:
    """The questions by name."""
    course = Course(room.root)
    return {each.name: each for each in questions_of(course, find_lab(room.root, LAB))}


def of(room: Classroom, student: str, question: str = "why") -> Answer:
    """A student's answer."""
    return next(each for each in questions(room)[question].answers if each.student == student)


def form(room: Classroom, **typed: str) -> dict[str, str]:
    """The form as the page has it now; typed: what is changed of why, as ada_score."""
    fields = {}
    for name, question in questions(room).items():
        for each in question.answers:
            fields |= {f"text-{each.key}": each.text, f"was-score-{each.key}": each.score}
            fields |= {f"was-comment-{each.key}": each.comment_mark, f"comment-{each.key}": each.comment}
            fields |= {f"score-{each.key}": each.score} if question.points else {}
            for kind in ("score", "comment", "holds"):
                if name == "why" and f"{each.student}_{kind}" in typed:
                    fields[f"{kind}-{each.key}"] = typed[f"{each.student}_{kind}"]
    return fields


def saved(room: Classroom, fields: dict[str, str]) -> SaveResult:
    """What becomes of a form."""
    return save(Course(room.root), find_lab(room.root, LAB), fields)


def kept(room: Classroom, student: str) -> tuple[Grade, Comment]:
    """What the gradebook has on why."""
    with room.gradebook() as gradebook:
        about = ("why", LAB, LAB, student)
        grade, comment = gradebook.find_grade(*about), gradebook.find_comment(*about)
        _ = grade.max_score, comment.comment
        gradebook.db.expunge_all()
        return grade, comment


def test_each_question_is_there_once_with_all_answers_and_is_scored_as_in_the_formgrader(room):
    found = questions(room)
    assert [*found] == ["why", "opinion"]
    why = found["why"]
    assert (
        "<strong>Why</strong> do they add?" in why.asked and "The model answer." in why.model and "###" not in why.model
    )
    assert [(each.student, each.waits, each.score) for each in why.answers] == [("ada", True, ""), ("bob", True, "")]
    assert (why.points, why.blank, found["opinion"].points) == (2, 1, 0)
    assert "<strong>add</strong>" in of(room, "ada").html
    assert others_to_look_at(Course(room.root), find_lab(room.root, LAB)) == 0
    done = saved(room, form(room, ada_score="1,5", ada_comment="Add what?\r\nAnd where?", bob_score="0"))
    assert (done.done, done.refused) == (3, {})
    grade, comment = kept(room, "ada")
    assert (grade.manual_score, grade.needs_manual_grade, comment.manual_comment) == (
        1.5,
        False,
        "Add what?\nAnd where?",
    )
    assert kept(room, "bob")[0].manual_score == 0 and room.scores() == {"ada": 6.5, "bob": 5, "cleo": 0}
    assert saved(room, form(room)).done == 0, "what nobody changed is not written"
    assert saved(room, form(room, ada_score="")).done == 1, "a score can be taken back"
    assert kept(room, "ada")[0].needs_manual_grade


def test_what_is_no_score_is_refused_with_a_sentence_and_all_else_is_saved(room):
    done = saved(room, form(room, ada_score="2.5", ada_comment="Good.", bob_score="1"))
    assert done.done == 2 and kept(room, "bob")[0].manual_score == 1
    assert kept(room, "ada")[0].manual_score is None and kept(room, "ada")[1].manual_comment == "Good."
    (why,) = done.refused.values()
    assert why == ("A score is from 0 to 2 here, not 2.5. This is not saved.", "2.5")
    for typed in ("-1", "nan", "1e999", "two"):
        ((reason, kept_as),) = saved(room, form(room, ada_score=typed)).refused.values()
        assert kept_as == typed and "not saved" in reason, typed


@pytest.mark.thorough
def test_what_another_instructor_changed_meanwhile_is_named_and_kept(room):
    mine, others = form(room, ada_score="1", ada_comment="Mine.", bob_score="2"), form(room, ada_score="2")
    others[next(key for key in others if key.startswith("comment-") and of(room, "ada").key in key)] = "Theirs."
    assert saved(room, others).done == 2
    done = saved(room, mine)
    assert done.done == 1 and kept(room, "bob")[0].manual_score == 2
    grade, comment = kept(room, "ada")
    assert (grade.manual_score, comment.manual_comment) == (2, "Theirs.")
    key = of(room, "ada").key
    assert done.refused[f"score-{key}"] == (
        "Somebody else gave 2 meanwhile. That is kept; save again to put this in its place.",
        "1",
    )
    assert "wrote: Theirs. meanwhile" in done.refused[f"comment-{key}"][0]
    assert saved(room, form(room, ada_score="1")).done == 1 and kept(room, "ada")[0].manual_score == 1


@pytest.mark.thorough
def test_a_score_is_not_given_to_a_text_that_nobody_has_read(room):
    before = form(room, ada_score="2")
    room.put("ada", room.answered(ANSWERS | {"why": "Something else."}), when=LATER)
    assert room.grade().exit_code == 0
    done = saved(room, before)
    assert done.done == 0 and kept(room, "ada")[0].manual_score is None
    assert "Another text was handed in" in done.refused[f"score-{of(room, 'ada').key}"][0]
    # A score for an earlier text waits until somebody says that it holds, or gives another one.
    assert saved(room, form(room, ada_score="1")).done == 1
    room.put("ada", room.answered(ANSWERS | {"why": "Something else!"}), when="2025-01-03 10:00:00.000000 UTC")
    assert room.grade().exit_code == 0
    assert of(room, "ada").waits and of(room, "ada").score == "1"
    assert saved(room, form(room)).done == 0 and of(room, "ada").waits
    assert saved(room, form(room, ada_holds="1")).done == 1 and not of(room, "ada").waits


def test_a_course_without_a_grading_has_no_answers(small):
    assert questions_of(Course(small.root), find_lab(small.root, LAB)) == []
