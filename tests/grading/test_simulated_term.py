"""`bench/term.py`: a class goes through a term, and what is not as it must be is named."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from classroom import REPOSITORY
from example_labs import todos_of
from labs_under_test import OURS

from autograde.labs.folder import find_lab, load_checks

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(1800)]
LAB = min(OURS, key=lambda lab: len(todos_of(lab))).name
BENCH = REPOSITORY / "bench"


def run(folder: Path) -> subprocess.CompletedProcess:
    """A term of two students and one lab in `folder`, or what is left of it."""
    command = [sys.executable, BENCH / "term.py", "--students", "2", "--labs", LAB, "--folder", folder]
    return subprocess.run(command, env={**os.environ, "PYTHONPATH": str(REPOSITORY)}, capture_output=True, text=True)


@pytest.fixture(scope="module")
def term(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Where a term took place, and what it said."""
    folder = tmp_path_factory.mktemp("term")
    done = run(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder, done.stdout


def test_it_ends_with_each_labs_cost_and_with_nothing_that_is_wrong(term):
    folder, said = term
    row, total, verdict = said.splitlines()[-3:]
    assert re.fullmatch(rf"\| `{LAB[:2]}` \| 2( \| [\d.]+){{3}} \| 1 \| [\d.]+ \| \d+ \|", row)
    assert total.startswith("2 students, 1 labs, ")
    assert verdict == "Every score, finding, page and mark is as it must be, and nothing is left behind."
    assert (folder / "course" / "class" / "report.html").exists()


def test_a_term_that_is_gone_through_is_not_gone_through_again(term):
    folder, said = term
    before = (folder / "steps.jsonl").stat().st_mtime_ns
    assert run(folder).stdout == said
    assert (folder / "steps.jsonl").stat().st_mtime_ns == before


def test_a_wrong_score_a_missing_finding_and_a_missing_student_are_named(term, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(BENCH))
    import simulated_class

    lab = find_lab(REPOSITORY, LAB)
    handed_in = simulated_class.again(lab, simulated_class.work(lab, 2))
    (student,) = handed_in
    table = (term[0] / "course" / "class" / LAB / "grades.csv").read_text()
    (line,) = (line for line in table.splitlines() if line.startswith(f"{student},"))
    [first] = [check for check in load_checks(lab.checks) if check.todo == todos_of(lab)[0]]
    heads, fields = table.splitlines()[0].split(","), line.split(",")
    for head, lost in (("score", 1), (first.todo, 1)):
        fields[heads.index(head)] = f"{float(fields[heads.index(head)]) - lost:g}"
    forged = tmp_path / "grades.csv"
    assert simulated_class.misgraded(lab, handed_in, term[0] / "course" / "class" / LAB / "grades.csv") == []
    forged.write_text(table.replace(line, ",".join(fields)))
    assert simulated_class.misgraded(lab, handed_in, forged) == [
        f"{LAB}, {student}: {first.todo} solution: {first.points - 1:g} of {first.points:g} points for nothing"
    ]
    forged.write_text(table.replace(f"{line}\n", ""))
    assert simulated_class.misgraded(lab, handed_in, forged) == [f"{LAB}, {student}: not there "]
    wrong = {todo: simulated_class.Answer("forgotten", "", "factor-two") for todo in handed_in[student]}
    assert len(
        simulated_class.misgraded(lab, {student: wrong}, term[0] / "course" / "class" / LAB / "grades.csv")
    ) == len(wrong)


def test_what_a_step_leaves_behind_is_named_once(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(BENCH))
    from term import Term

    term = Term(tmp_path / "term", [find_lab(REPOSITORY, LAB)], 2, 1)
    left = tmp_path / "term" / "tmp" / "forgotten"
    left.touch()
    assert f"{left} is left behind" in term.left_behind()
    assert f"{left} is left behind" not in term.left_behind()
