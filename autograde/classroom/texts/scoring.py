"""Answers in words, of a whole class, by question: what was written, and the scores and comments that a person gives.

They are kept where the formgrader keeps them, in the gradebook. A change is told from what somebody else has changed
meanwhile, as each field comes with what it was when it was shown.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbgrader.api import Comment, Grade, Gradebook, MissingEntry, SubmittedNotebook

from autograde.classroom.nbgrader_course import Course
from autograde.classroom.texts.formulas import markdown_to_html
from autograde.labs.folder import Lab
from autograde.labs.places import SOURCE
from autograde.labs.questions import is_text
from course.overview.cells import tag_of


@dataclass(frozen=True)
class Answer:
    """One student's answer. key: of its fields in a form. text: a value that changes with what was written. score: as a
    person gave it. waits: for a person to read it."""

    key: str
    student: str
    name: str
    html: str
    text: str
    score: str
    comment: str
    waits: bool

    @property
    def comment_mark(self) -> str:
        """A value that changes with the comment."""
        return short(self.comment)


@dataclass
class Question:
    """A question that is answered in words. asked, model: HTML of it and of the answer in `solutions/`. blank: how many
    students have left it as it was."""

    name: str
    points: float
    asked: str
    model: str
    answers: list[Answer] = field(default_factory=list)
    blank: int = 0


@dataclass
class SaveResult:
    """What became of a form. done: how many fields were saved. refused: why others were not, and what was typed there,
    by the field's name."""

    done: int = 0
    refused: dict[str, tuple[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class GradedText:
    """An answer in the gradebook, and the cell that was graded."""

    student: SubmittedNotebook
    grade: Grade
    comment: Comment | None
    cell: NotebookNode
    folder: Path

    @property
    def text(self) -> str:
        """A value that changes with what was written."""
        return short(str(self.cell.source))

    @property
    def blank(self) -> bool:
        """Whether it was left as it was, which nbgrader scores itself."""
        return self.grade.auto_score is not None and self.grade.manual_score is None


def questions_of(course: Course, lab: Lab) -> list[Question]:
    """The lab's questions, with the answers of all who are graded, by name. Creates no gradebook."""
    found: dict[str, Question] = {}
    with course.gradebook() as gradebook:
        asked = {name: (before, cell) for name, before, cell in asked_in(course, lab)}
        for each in written(course, lab, gradebook):
            name = each.grade.name
            before, model = asked.get(name, (None, None))
            question = found.setdefault(
                name, Question(name, each.grade.max_score, shown(before), shown(model and without_marks(model)))
            )
            if each.blank:
                question.blank += 1
            else:
                question.answers.append(answer_of(each))
    order = [*asked]
    return sorted(found.values(), key=lambda each: order.index(each.name) if each.name in order else len(order))


def answer_of(each: GradedText) -> Answer:
    """An answer as a page shows it."""
    student, grade = each.student.student, each.grade
    names = [student.last_name, student.first_name]
    return Answer(
        grade.id,
        student.id,
        ", ".join(filter(None, names)) or student.id,
        shown(each.cell, each.folder),
        each.text,
        number(grade.manual_score),
        comment_of(each.comment),
        grade.needs_manual_grade,
    )


def written(course: Course, lab: Lab, gradebook: Gradebook) -> Iterator[GradedText]:
    """All answers in words to the lab's questions of who is graded, by the students' names."""
    try:
        submissions = gradebook.notebook_submissions(lab.name, lab.name)
    except MissingEntry:
        return
    for each in sorted(submissions, key=lambda each: (each.student.last_name or "", each.student.id)):
        folder = course.folder("autograded", each.student.id, lab.name)
        try:
            notebook = nbformat.read(folder / lab.notebook, as_version=4)
        except (OSError, ValueError):
            continue
        cells = {tag.get("grade_id"): cell for cell in notebook.cells if is_text(tag := tag_of(cell))}
        comments = {comment.name: comment for comment in each.comments}
        for grade in each.grades:
            if grade.name in cells:
                yield GradedText(each, grade, comments.get(grade.name), cells[grade.name], folder)


def asked_in(course: Course, lab: Lab) -> Iterator[tuple[str, NotebookNode | None, NotebookNode]]:
    """The questions in the instructor's notebook: name, the text above the answer, the answer."""
    try:
        cells = nbformat.read(course.root / SOURCE / lab.name / lab.notebook, as_version=4).cells
    except (OSError, ValueError):
        return
    for before, cell in zip([None, *cells], cells, strict=False):
        if is_text(tag_of(cell)):
            text = before if before and before.cell_type == "markdown" and not is_text(tag_of(before)) else None
            yield tag_of(cell)["grade_id"], text, cell


def others_to_look_at(course: Course, lab: Lab) -> int:
    """How many submissions have something else than a text that a person must look at."""
    with course.gradebook() as gradebook:
        try:
            submissions = gradebook.notebook_submissions(lab.name, lab.name)
        except MissingEntry:
            return 0
        return sum(
            any(
                grade.needs_manual_grade and grade.max_score and grade.cell.cell_type != "markdown"
                for grade in one.grades
            )
            for one in submissions
        )


def save(course: Course, lab: Lab, form: Mapping[str, str]) -> SaveResult:
    """Save what was changed in a form: `score-KEY`, `comment-KEY` and `holds-KEY`, which says that a score given before
    is right for the text of now. `was-score-KEY`, `was-comment-KEY` and `text-KEY` are what was shown.

    Raises Locked.
    """
    course.wait_until_free()
    saved = SaveResult()
    with course.gradebook() as gradebook:
        for each in written(course, lab, gradebook):
            if f"text-{each.grade.id}" in form:
                save_one(each, form, saved)
        gradebook.db.commit()
    return saved


def save_one(each: GradedText, form: Mapping[str, str], saved: SaveResult) -> None:
    """Save what was changed for one answer, or say why not."""
    key, grade, comment = each.grade.id, each.grade, each.comment
    typed = {kind: form.get(f"{kind}-{key}", "").replace("\r\n", "\n").strip() for kind in ("score", "comment")}
    now = {"score": number(grade.manual_score), "comment": comment_of(comment)}
    was = {"score": form.get(f"was-score-{key}", ""), "comment": form.get(f"was-comment-{key}", "")}
    changed = {"score": not same(typed["score"], was["score"]), "comment": short(typed["comment"]) != was["comment"]}
    unknown = {"score": now["score"] != was["score"], "comment": short(now["comment"]) != was["comment"]}
    if grade.max_score == 0:
        changed["score"] = False
    holds = grade.needs_manual_grade and grade.manual_score is not None and f"holds-{key}" in form
    for kind in (kind for kind in typed if changed[kind] and not same(typed[kind], now[kind])):
        why = ""
        if form[f"text-{key}"] != each.text:
            why = "Another text was handed in and graded meanwhile: read it first. This is not saved."
        elif unknown[kind]:
            there = f"gave {now['score'] or 'no score'}" if kind == "score" else f"wrote: {now['comment'] or 'nothing'}"
            why = f"Somebody else {there} meanwhile. That is kept; save again to put this in its place."
        elif kind == "score":
            why = why_no_score(typed["score"], grade.max_score)
        if why:
            saved.refused[f"{kind}-{key}"] = (why, typed[kind])
            continue
        saved.done += 1
        if kind == "comment":
            comment.manual_comment = typed["comment"]
        else:
            grade.manual_score = points(typed["score"]) if typed["score"] else None
            grade.needs_manual_grade = grade.manual_score is None and grade.auto_score is None
            holds = False
    if holds and form[f"text-{key}"] == each.text and not changed["score"]:
        grade.needs_manual_grade = False
        saved.done += 1


def why_no_score(typed: str, most: float) -> str:
    """Why what was typed is no score; empty if it is one. That it is empty takes a score back."""
    if not typed:
        return ""
    try:
        score = points(typed)
    except ValueError:
        return f"{typed[:40]!r} is no number of points. This is not saved."
    if not 0 <= score <= most:
        return f"A score is from 0 to {number(most)} here, not {number(score)}. This is not saved."
    return ""


def points(typed: str) -> float:
    """A number as people type it, also with a comma. Raises ValueError."""
    score = float(typed.replace(",", "."))
    if not math.isfinite(score):
        raise ValueError(typed)
    return score


def same(one: str, other: str) -> bool:
    """Whether two fields say the same, as 1.5 and 1,50 do."""
    try:
        return one == other or points(one) == points(other)
    except ValueError:
        return False


def comment_of(comment: Comment | None) -> str:
    """What a person wrote."""
    return ((comment.manual_comment if comment else None) or "").replace("\r\n", "\n").strip()


def number(value: float | None) -> str:
    """Points as text; empty for None."""
    return "" if value is None else f"{value:g}"


def short(text: str) -> str:
    """A value that changes with a text."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def without_marks(cell: NotebookNode) -> NotebookNode:
    """The instructor's answer without the lines for nbgrader."""
    lines = [line for line in cell.source.split("\n") if not line.lstrip().startswith("### ")]
    return NotebookNode(cell | {"source": "\n".join(lines)})


def shown(cell: NotebookNode | None, folder: Path | None = None) -> str:
    """HTML of a cell; empty for None. folder: where its pictures are."""
    about = {"metadata": {"path": str(folder)}} if folder else {}
    return markdown_to_html({"cell": cell, "resources": about}, cell.source) if cell else ""
