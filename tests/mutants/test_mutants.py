"""`lockstep mutants` on a small lab: holes and their list, an interrupted run, bad input."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import ClassVar

import pytest
from click.testing import CliRunner, Result
from lab_packages import write_package
from small_course import LAB, LAB_PY, make_course

from autograde.cli import main
from autograde.labs.answers import Answer
from autograde.labs.folder import find_lab
from autograde.mutants import run
from autograde.mutants.answers import Mutant, mutants
from autograde.mutants.grading import Grader, Outcome

# An answer of which one mutant eats the memory, one hangs, and one prints without end.
AWKWARD = """
    kept = [0]
    while len(kept) < 1:
        kept.append(b"x" * 2**28)
    while x < x:
        pass
    while kept == []:
        print(x)
    return x + x
"""


def lab_with(answer: str) -> str:
    """The small lab's text, with an answer to `double`."""
    return LAB_PY.replace("    return x + x  # nobody has thought of this before\n", answer)


def lockstep(course: Path, *arguments: str) -> Result:
    """`lockstep mutants` for a course's small lab."""
    return CliRunner(env={"LOCKSTEP_COURSE": str(course)}).invoke(main, ["mutants", LAB, "--jobs", "2", *arguments])


@pytest.mark.thorough
def test_what_keeps_all_points_is_shown_until_it_is_listed(tmp_path):
    course = make_course(tmp_path, lab_with("    y = 2 * max(x, x - 0.0)\n    return y\n"))
    first = lockstep(course, "--todo", "double")
    assert first.exit_code == 1
    shown = [line for line in first.output.splitlines() if line.endswith(' = ""')]
    assert "'y = 2 * max(x, x - 0.0) -> y = 2 * max(x, x + 0.0)' = \"\"" in shown
    assert "[double.solution]" in first.output
    listed = first.output[first.output.index("[double.solution]") :].replace('= ""', '= "The same number."')
    (course / "solutions" / LAB / "equivalent.toml").write_text(listed)
    second = lockstep(course, "--todo", "double")
    assert second.exit_code == 0, second.output
    assert f"{len(shown)} equivalent" in second.output
    table = lockstep(course, "--table")
    counts = [cell.strip() for cell in table.output.splitlines()[2].strip("| ").split("|")]
    assert counts[0] == LAB and int(counts[3]) == len(shown) and int(counts[6]) > 0
    (course / "solutions" / LAB / "equivalent.toml").write_text(listed + "'a -> b' = \"Gone.\"\n")
    last = lockstep(course, "--todo", "double")
    assert last.exit_code == 1 and "no mutant `a -> b`" in last.output


@pytest.mark.thorough
def test_an_interrupted_run_goes_on_where_it_was(tmp_path):
    course = make_course(tmp_path)
    assert lockstep(course, "--todo", "total").exit_code == 0
    path = course / run.FOLDER / f"{LAB}.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:-2]) + lines[-1][:20])  # cut while a line was written
    lab = find_lab(course, LAB)
    made = [mutant for mutant in mutants(lab) if mutant.answer.todo == "total"]
    assert run.tally(course, lab, made).pending == 2
    assert lockstep(course, "--todo", "total").exit_code == 0
    assert run.tally(course, lab, made).pending == 0
    assert len(path.read_text().splitlines()) == len(lines) + 1
    changed = course / "solutions" / LAB / "checks" / "total.py"
    changed.write_text(changed.read_text().replace("not summed", "not added"))
    assert run.tally(course, lab, made).pending == len(made)
    others = [mutant for mutant in mutants(lab) if mutant.answer.todo == "double"]
    assert lockstep(course, "--todo", "double").exit_code in (0, 1)
    assert run.tally(course, lab, others).pending == 0


@pytest.mark.thorough
def test_mutants_that_hang_print_without_end_or_eat_the_memory_are_refused(tmp_path):
    course = make_course(tmp_path, lab_with(AWKWARD))
    lockstep(course, "--todo", "double")
    lab = find_lab(course, LAB)
    keys, known = run.Keys(lab), run.read_outcomes(course, lab)
    outcomes = {mutant.change: known[keys.of(mutant)] for mutant in mutants(lab) if mutant.answer.todo == "double"}
    assert outcomes["while len(kept) < 1: -> while len(kept) >= 1:"].finding == "memory-limit"
    assert outcomes["while x < x: -> while x <= x:"].finding == "too-slow"
    assert outcomes["while kept == []: -> while kept != []:"].finding == "output-limit"


@pytest.mark.thorough
def test_a_lab_whose_solution_does_not_pass_is_refused(tmp_path):
    course = make_course(tmp_path, lab_with("    return x\n"))
    result = lockstep(course)
    assert result.exit_code == 1
    assert f"{LAB}: right answers lose points" in result.output and "double, solution: not-double" in result.output


def test_a_lab_without_checks_is_refused(tmp_path):
    course = make_course(tmp_path, checks="# == __init__.py\n")
    result = lockstep(course)
    assert result.exit_code == 1 and "has no module that sets CHECK" in result.output


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[double", "equivalent.toml: "),
        ("a = 'b'", "a stands outside of a table"),
        ("[double]\n'a -> b' = ''", "'a -> b' needs a reason"),
        ("[double.solution]\n'a -> b' = 3", "'a -> b' needs a reason"),
    ],
)
def test_a_list_that_cannot_be_read_is_refused(tmp_path, text, why):
    course = make_course(tmp_path)
    (course / "solutions" / LAB / "equivalent.toml").write_text(text)
    result = lockstep(course)
    assert result.exit_code == 1 and why in result.output


@pytest.mark.thorough
def test_each_outcome_has_the_seed_of_its_cases(tmp_path):
    course = make_course(tmp_path)
    lockstep(course, "--todo", "total", "--seed", "5", "--variant", "solution")
    lines = (course / run.FOLDER / f"{LAB}.jsonl").read_text().splitlines()
    assert {json.loads(line)["seed"] for line in lines} == {5}


@pytest.mark.thorough
def test_what_was_too_slow_or_not_judged_beside_others_is_graded_once_more_alone(tmp_path):
    class Graded(Grader):
        """Notes what it is asked for: `x - x` is too slow beside others, `x / x` is not judged there."""

        asked: ClassVar[list[list[str]]] = []

        def grade_together(self, batch):
            self.asked.append([mutant.source for mutant in batch])
            beside = {"x - x": Outcome("too-slow", None, 0), "x / x": Outcome(None, "no sandbox", 0)}
            known = {"x * x": Outcome("too-slow", None, 0), **(beside if len(batch) > 1 else {})}
            return [(each, known.get(each.source, Outcome(None, None, 0))) for each in batch]

    graders = Graded(find_lab(make_course(tmp_path), LAB), None, 0, 1, threading.Event())
    made = [Mutant(Answer("double", "solution", "x + x"), "arithmetic", f"x {sign} x") for sign in "-*/%"]
    outcomes = {mutant.source: outcome.finding or outcome.unjudged for mutant, outcome in graders.grade(made)}
    assert outcomes == {"x - x": None, "x * x": "too-slow", "x / x": None, "x % x": None}
    assert sorted(Graded.asked) == [["x * x"], ["x - x"], ["x - x", "x * x", "x / x", "x % x"], ["x / x"]]


@pytest.mark.parametrize("file", ["checks/double.py", "probes/double.py", "shared/parts.py"])
def test_a_mutant_is_graded_again_when_its_check_or_what_runs_beside_it_has_changed(tmp_path, file):
    lab = find_lab(make_course(tmp_path), LAB)
    write_package(lab.folder / "shared", "# == __init__.py\n# == parts.py\nPARTS = 2\n")
    mutant = Mutant(Answer("double", "solution", "return 1.0"), "constant", "return 2.0")
    before = run.Keys(lab).of(mutant)
    assert run.Keys(lab).of(mutant) == before
    changed = lab.folder / file
    changed.write_text(changed.read_text(encoding="utf-8") + "\nMORE = 1\n", encoding="utf-8")
    assert run.Keys(lab).of(mutant) != before


def test_a_mutant_is_graded_again_when_a_judge_of_the_library_has_changed(monkeypatch, tmp_path):
    lab, read = find_lab(make_course(tmp_path), LAB), Path.read_bytes
    mutant = Mutant(Answer("double", "solution", "return 1.0"), "constant", "return 2.0")
    before = run.Keys(lab).of(mutant)
    monkeypatch.setattr(Path, "read_bytes", lambda path: read(path) + b"#" * (path.parent.name == "values"))
    assert run.Keys(lab).of(mutant) != before
