"""Rewritings of right answers change nothing, and keep all points."""

from __future__ import annotations

import ast
import random
from concurrent.futures import ThreadPoolExecutor

import pytest
from click.testing import CliRunner
from labs_under_test import COURSE, LABS
from seeds import SEED
from small_course import LAB, LAB_PY, make_course

from autograde.cells.parsing import parse
from autograde.cli import main
from autograde.labs.answers import Answer
from autograde.labs.folder import Lab
from autograde.labs.places import REPOSITORY
from autograde.mutants.answers import Mutant
from autograde.mutants.grading import grade_source, grader
from autograde.rewritings.rounds import ROUNDS, made_of, rewritings, rewritten
from autograde.sandbox.examine import Examination

SAMPLE = 24

EACH = [rewriting for group in ROUNDS for rewriting in group]
ANSWER = '''
import math
total = 0
def evens(numbers, *more, start=0, **named):
    """Docstring."""
    global total
    def inside(x):
        nonlocal count
        count += 1
        return x % 2 == 0 if start == 0 else x > start
    count = 0
    found = []
    for number in [*numbers, *more, *named.values()]:
        if inside(number):
            found.append(number)
        else:
            total += 1
    for total_of in found:
        count += total_of
    return math.floor(count + sum(found)), total, found
'''
CLASS = """
class Counter(dict):
    def __init__(self, start):
        self.count = start
    def add(self, more):
        kept = more if more > 0 else 0
        self.count += kept
        return self.count + 0
"""


def evens_of(source: str) -> tuple:
    """What two calls of `evens` give, where this is its source."""
    namespace: dict = {}
    exec(source, namespace)
    return namespace["evens"]([1, 2, 3], 4, 6, last=8), namespace["evens"]([5, 6], start=5)


def counts_of(source: str) -> list[int]:
    """What calls of a `Counter` give, where this is its source."""
    namespace: dict = {}
    exec(source, namespace)
    counter = namespace["Counter"](3)
    assert isinstance(counter, dict)
    return [counter.add(2), counter.add(-1), counter.count]


@pytest.mark.parametrize("rewriting", EACH, ids=lambda each: each.__name__)
def test_a_rewriting_changes_nothing_but_the_text(rewriting):
    assert evens_of(rewritten(ANSWER, "evens", [rewriting])) == evens_of(ANSWER)
    assert counts_of(rewritten(CLASS, "Counter", [rewriting])) == counts_of(CLASS)


def test_every_rewriting_changes_some_answer():
    calls = "def send(comm, a):\n    comm.bcast(a, 0)\n    comm.Send(a, 1)\n"
    texts = [("evens", ANSWER), ("Counter", CLASS), ("send", calls)]
    for rewriting in EACH:
        assert any(rewritten(text, todo, [rewriting]) != ast.unparse(parse(text)) for todo, text in texts)
    named = rewritten(calls, "send", EACH[5:7])
    assert "comm.bcast(obj=a, root=0)" in named and "comm.Send(buf=memoryview(a), dest=1)" in named


@pytest.mark.parametrize("group", ROUNDS, ids=range(len(ROUNDS)))
def test_a_round_applies_together(group):
    [made] = made_of(Answer("evens", "solution", ANSWER), [group])
    assert evens_of(made.source) == evens_of(ANSWER)


@pytest.mark.thorough
def test_the_command_tells_which_rewriting_loses_points(tmp_path):
    course = make_course(tmp_path)
    invoke = CliRunner(env={"LOCKSTEP_COURSE": str(course)}).invoke
    right = invoke(main, ["rewritings", LAB, "--jobs", "2", "--todo", "double", "--variant", "solution"])
    assert right.exit_code == 0, right.output
    answer = "    return x + x  # nobody has thought of this before\n"
    picky = "    import sys\n    return 0 if 'print' in sys._getframe().f_code.co_names else x + x\n"
    assert answer in LAB_PY
    course = make_course(tmp_path / "picky", LAB_PY.replace(answer, picky))
    wrong = invoke(main, ["rewritings", LAB, "--todo", "double"], env={"LOCKSTEP_COURSE": str(course)})
    assert wrong.exit_code == 1
    at_once, in_the_end = map(wrong.output.find, ("solution: finally_passed+printed", "double, solution: printed:"))
    assert 0 < at_once < in_the_end


def lost_points(lab: Lab, sample: list[Mutant]) -> list[str]:
    """Those of a sample that do not keep all points, in words."""
    if not sample:
        return []
    with grader(lab, SEED, 1) as graders, Examination(graders.sandboxes, SEED) as examination:
        outcomes = [grade_source(examination, graders.checks[one.answer.todo], one.source) for one in sample]
    return [
        f"{lab.name}, {one.answer.todo}, {one.answer.variant}, {one.operator}: {outcome.finding or outcome.unjudged}"
        for one, outcome in zip(sample, outcomes, strict=True)
        if outcome.refused or outcome.unjudged
    ]


@pytest.mark.thorough
@pytest.mark.skipif(COURSE != REPOSITORY, reason="the labs of another course: ./lockstep rewritings grades these")
def test_a_random_sample_of_rewritings_keeps_all_points(capsys):
    everything = [(lab, one) for lab in LABS for one in rewritings(lab)]
    sample = random.Random(SEED).sample(everything, SAMPLE)
    with capsys.disabled():
        print(f"\n{SAMPLE} of {len(everything)} rewritings, drawn with seed {SEED}")
    with ThreadPoolExecutor(2) as pool:
        found = pool.map(lambda lab: lost_points(lab, [one for of, one in sample if of == lab]), LABS)
    assert [line for lines in found for line in lines] == [], f"seed {SEED}"
