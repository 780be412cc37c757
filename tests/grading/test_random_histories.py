"""Random sequences of what happens in a term, against a small model of what each mark must be."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from changing_lab import THIRD, THIRD_CHECK, THIRD_PROBE, by_hand, marks, without_sandboxes
from classroom import Classroom
from filled_gradebook import deadline
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from seeds import SEED
from small_course import ANSWERS, CHECKS_PY, LAB, LAB_PY, PROBES_PY, make_course

STUDENTS = ("ada", "bob")
OTHER_NAME = "93_small"
RIGHT = {**ANSWERS, "third": "def third(x):\n    return 3 * x"}
students = st.sampled_from(STUDENTS)


@dataclass(frozen=True)
class Measure:
    """What the lab asks for now: the points of `double`, whether it has a third TODO, its cases."""

    double: int = 2
    third: bool = False
    cases: int = 100

    @property
    def points(self) -> dict[str, int]:
        """The points of each TODO."""
        return {"double": self.double, "total": 3} | ({"third": self.double} if self.third else {})

    def write(self, root: Path) -> None:
        """Make this the lab of the course at `root`."""
        checks = CHECKS_PY + (THIRD_CHECK if self.third else "")
        checks = checks.replace(", 1.5,", f", {self.double - 0.5},").replace(", 100)", f", {self.cases})")
        probes = PROBES_PY + (THIRD_PROBE if self.third else "")
        make_course(root, LAB_PY + (THIRD if self.third else ""), checks, probes)


@dataclass
class Student:
    """A student in the model. answers: the TODOs that the last submission answers; None: nothing was handed in.

    graded: the answers and the measure of the last grading. by_hand: scores that a person gave, by TODO, for so many
    points of that TODO. look: TODOs whose score waits for a person.
    """

    answers: frozenset[str] | None = None
    handed_in: int = 0
    graded: tuple[int, Measure] | None = None
    right: frozenset[str] = frozenset()
    by_hand: dict[str, float] = field(default_factory=dict)
    look: set[str] = field(default_factory=set)
    days: int | None = None

    def mark(self, now: Measure) -> str:
        """What the export must say: nothing, if the mark is not what it would be if it were made now."""
        if self.graded != (self.handed_in, now) or self.look:
            return ""
        scores = {todo: most if todo in self.right else 0 for todo, most in now.points.items()} | self.by_hand
        return f"{sum(scores.values()):g}"


class Term(RuleBasedStateMachine):
    """A class of two, whose lab changes while they hand in and are graded."""

    template: Classroom  # before anything has happened

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.room = self.template.copied(Path(self.folder.name))
        self.now, self.registered = Measure(), Measure()
        self.students = {student: Student() for student in STUDENTS}

    def teardown(self) -> None:
        """Delete the course."""
        self.folder.cleanup()

    @initialize(answers=st.frozensets(st.sampled_from(sorted(RIGHT))))
    def begin(self, answers: frozenset[str]) -> None:
        """Both hand in, and are graded."""
        for student in STUDENTS:
            self.hand_in(student, answers)
        self.grade()

    @rule(what=st.sampled_from(("points", "TODOs", "cases")), then_grade=st.booleans())
    def change(self, what: str, then_grade: bool) -> None:
        """Change one thing of the lab."""
        now = self.now
        if what == "points":
            self.now = replace(now, double=6 - now.double)
        elif what == "TODOs":
            self.now = replace(now, third=not now.third)
        else:
            self.now = replace(now, cases=now.cases - 1)
        self.now.write(self.room.root)
        if then_grade:
            self.marks_are_those_of_the_model()
            self.grade()

    @rule(student=students, answers=st.frozensets(st.sampled_from(sorted(RIGHT))))
    def hand_in(self, student: str, answers: frozenset[str]) -> None:
        """Hand in the notebook that is released now, with some of the answers."""
        assert self.room.lockstep("build").exit_code == 0
        one = self.students[student]
        one.handed_in += 1
        one.answers = answers & self.now.points.keys()
        notebook = self.room.answered({todo: RIGHT[todo] for todo in one.answers})
        notebook.metadata["nth"] = one.handed_in  # two submissions differ
        self.room.put(student, notebook, when=f"2026-01-{one.handed_in:02} 10:00:00.000000 UTC")

    @rule()
    def grade(self) -> None:
        """Grade the class."""
        done = self.room.grade()
        assert done.exit_code == 0, done.output
        lost = [todo for todo in self.registered.points if todo not in self.now.points]
        others = {todo for todo, most in self.now.points.items() if self.registered.points.get(todo, most) != most}
        for name, one in self.students.items():
            for todo in lost:
                one.look.discard(todo)
                if one.by_hand.pop(todo, None) is not None:
                    assert f"{todo}-check of {name}" in done.output
            one.look |= others & one.by_hand.keys()
            if one.answers is None or one.graded == (one.handed_in, self.now):
                continue
            if one.graded is not None and one.graded[0] != one.handed_in:  # nbgrader asks for a look
                one.look |= one.by_hand.keys()
            elif one.graded is not None:
                assert "graded again" in done.output and name in done.output
            one.graded, one.right = (one.handed_in, self.now), one.answers & self.now.points.keys()
        self.registered = self.now

    @rule(student=students, todo=st.sampled_from(("double", "total")), score=st.sampled_from((0.5, 1.5)))
    def score_by_hand(self, student: str, todo: str, score: float) -> None:
        """Give a score as in the formgrader."""
        one = self.students[student]
        by_hand(self.room, student, todo, score)
        one.by_hand[todo] = score
        one.look.discard(todo)

    @rule(student=students, days=st.integers(1, 3))
    def extend(self, student: str, days: int) -> None:
        """Give one student more time."""
        done = self.room.lockstep("extend", LAB, student, f"{days}d")
        assert done.exit_code == 0, done.output
        self.students[student].days = days

    @rule()
    def rename(self) -> None:
        """Give the lab another name, export, and give it its old one again."""
        folders = [self.room.root / "solutions" / name for name in (LAB, OTHER_NAME)]
        os.rename(*folders)
        said = self.room.lockstep("grades").output
        os.rename(*reversed(folders))
        assert f"{LAB}: {len(STUDENTS)} graded, not counted" in said

    @invariant()
    def marks_are_those_of_the_model(self) -> None:
        """Export, and compare."""
        if not all(one.graded for one in self.students.values()):
            return
        expected = {name: one.mark(self.now) for name, one in self.students.items()}
        said, output = marks(self.room, LAB)
        assert said == expected, output
        for name, one in self.students.items():
            assert expected[name] or name in output
            if one.days:
                with self.room.gradebook() as gradebook:
                    assert gradebook.find_submission(LAB, name).extension.days == one.days


@pytest.fixture
def template(small: Classroom, monkeypatch: pytest.MonkeyPatch) -> Classroom:
    """A class of two, with a deadline, before anybody has handed in."""
    without_sandboxes(monkeypatch)
    assert small.lockstep("enrol", *STUDENTS).exit_code == 0
    deadline(small, "2030-01-01 12:00:00")
    return small


@pytest.mark.timeout(1500)
@pytest.mark.parametrize("examples", [2, pytest.param(40, marks=pytest.mark.thorough)])
def test_every_mark_is_what_the_model_says(template: Classroom, examples: int) -> None:
    machine = seed(SEED)(type("TermOf", (Term,), {"template": template}))
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=10 if examples < 10 else 25,
            deadline=None,
            database=None,
            phases=[Phase.generate, Phase.shrink] if examples >= 10 else [Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )
