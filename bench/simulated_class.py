"""No bench of its own: a class for `term.py`, in which each student answers as somebody really has.

An answer to a TODO is the lab's solution, another right answer of its `variants/`, a known mistake of them, or none.
So it is known what each must get: all points, a certain finding, or 0. A known mistake costs whoever makes it the same.
"""

from __future__ import annotations

import contextlib
import csv
import random
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbgrader.auth import Authenticator
from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange.default import ExchangeFetchAssignment, ExchangeFetchFeedback, ExchangeSubmit
from traitlets.config import Config

from autograde.labs.folder import Lab, load_checks, load_variants
from autograde.labs.questions import is_todo
from autograde.making.build import instructor_notebook

SEED = 2027
SHARES = {"solution": 45, "right": 20, "wrong": 25, "blank": 10}  # percent of the answers
ABSENT = 15  # of so many students one hands in nothing of a lab
AGAIN = 5  # every fifth student hands in the solution after the feedback
CORRECTION = ("See what I wrote below your plot.", 0.5)  # the instructor's comment, and the score for a student's TODO
COURSE = "lockstep"  # its id in the exchange, as in nbgrader_config.py


@dataclass(frozen=True)
class Answer:
    """What stands in the cell of a TODO. name: of the variant. finding: the key that it must get; empty: all points."""

    name: str
    source: str
    finding: str = ""


Work = dict[str, dict[str, Answer]]  # student -> TODO -> answer


def students(count: int) -> dict[str, str]:
    """Names by id."""
    return {f"student-{number:02}": f"Robin Number-{number:02}" for number in range(count)}


def solutions(lab: Lab) -> dict[str, Answer]:
    """The lab's own answer to each TODO."""
    cells = [cell for cell in instructor_notebook(lab).cells if is_todo(cell.metadata.get("nbgrader", {}))]
    return {cell.id: Answer("solution", cell.source) for cell in cells}


def work(lab: Lab, count: int) -> Work:
    """What each of `count` students hands in for `lab`, the same each time; who is absent is left out."""
    rng = random.Random(f"{SEED} {lab.name}")
    right, wrong = load_variants(lab.variants)
    absent = rng.sample(list(students(count)), count // ABSENT)
    handed_in: Work = {}
    for student in students(count):
        chosen = {}
        for todo, solution in solutions(lab).items():
            (kind,) = rng.choices(list(SHARES), list(SHARES.values()))
            if kind == "right":
                chosen[todo] = Answer(*rng.choice(list(right[todo].items())))
            elif kind == "wrong":
                name, known = rng.choice(list(wrong[todo].items()))
                chosen[todo] = Answer(name, known.source, known.finding)
            else:
                chosen[todo] = solution if kind == "solution" else Answer("blank", "", "not-done")
        handed_in[student] = chosen
    return {student: chosen for student, chosen in handed_in.items() if student not in absent}


def again(lab: Lab, handed_in: Work) -> Work:
    """What those hand in who correct their work after the feedback."""
    return {student: solutions(lab) for student in list(handed_in)[::AGAIN]}


@dataclass(frozen=True)
class Desks:
    """The students' own folders, below `folder`, and the exchange at `exchange`. They use nbgrader as it comes."""

    folder: Path
    exchange: Path

    def fetch(self, lab: Lab, whose: Iterable[str]) -> None:
        """Each of these students fetches the lab."""
        for student in whose:
            self._do(ExchangeFetchAssignment, lab, student)

    def submit(self, lab: Lab, handed_in: Work) -> None:
        """Each writes these answers into the notebook that was released, and hands it in."""
        for student, answers in handed_in.items():
            path = self.folder / student / lab.name / lab.notebook
            notebook = nbformat.read(path, as_version=4)
            for cell in notebook.cells:
                if cell.id in answers and answers[cell.id].name != "blank":
                    cell.source = answers[cell.id].source
            nbformat.write(notebook, path)
            self._do(ExchangeSubmit, lab, student)

    def fetch_feedback(self, lab: Lab, handed_in: Work) -> list[str]:
        """Each fetches the feedback. Returns who got none for what was handed in last."""
        without = []
        for student in handed_in:
            self._do(ExchangeFetchFeedback, lab, student)
            pages = (self.folder / student / lab.name / "feedback").glob(f"*/{lab.name}.html")
            last = max(self._cache(student).glob(f"{COURSE}/{student}+{lab.name}+*")).name.split("+")[2]
            if last not in {page.parent.name for page in pages}:
                without.append(student)
        return without

    def _do(self, action: type, lab: Lab, student: str) -> None:
        folder = self.folder / student
        folder.mkdir(parents=True, exist_ok=True)
        config = Config()
        config.Exchange.root, config.Exchange.cache = str(self.exchange), str(self._cache(student))
        config.CourseDirectory.course_id = COURSE
        config.Application.log_level = "ERROR"
        directory = CourseDirectory(config=config, assignment_id=lab.name, student_id=student)
        with contextlib.chdir(folder):
            action(coursedir=directory, authenticator=Authenticator(), config=config).start()

    def _cache(self, student: str) -> Path:
        return self.folder / student / ".cache"


def misgraded(lab: Lab, handed_in: Work, grades: Path) -> list[str]:
    """What is not as it must be in `grades`, the lab's grades.csv: a line each."""
    with open(grades, newline="") as file:
        rows = {row["student"]: row for row in csv.DictReader(file)}
    lines, costs = [], {}
    for student, answers in handed_in.items():
        row = rows.get(student, {"status": "not there"})
        if row["status"] != "graded" or row["problems"]:
            lines.append(f"{lab.name}, {student}: {row['status']} {row.get('problems', '')}")
            continue
        for check in load_checks(lab.checks):
            answer, score = answers[check.todo], float(row[check.todo])
            found = [each.partition(":") for each in row["findings"].split("; ")]
            keys = [key for todo, _, key in found if todo == check.todo]
            same = costs.setdefault((check.todo, answer.name), score)
            if score != same or not fits(answer, score / check.points, keys):
                given = f"{score:g} of {check.points:g} points for {', '.join(keys) or 'nothing'}"
                lines.append(f"{lab.name}, {student}: {check.todo} {answer.name}: {given}")
    return lines


def fits(answer: Answer, share: float, keys: list[str]) -> bool:
    """Whether an answer may get this share of its points with these findings.

    All points for right answers (a finding that costs nothing is a remark), 0 for none; and a mistake has its finding,
    which costs something.
    """
    if not answer.finding:
        return share == 1
    return answer.finding in keys and (share == 0 if answer.name == "blank" else share < 1)
