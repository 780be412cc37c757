"""Mistakes that published graders of distributed training let pass, and what the labs' own checks say of them.

Each is run twice on real ranks: before a check of the usual kind, which it passes, and before the lab's. The mistakes
are those of the labs' `lab.toml`, of which `lockstep build` makes the table in docs/grader.md; the usual checks are in
`tests/usual_checks.py` of the lab.
"""

from __future__ import annotations

import pytest
from lab_tests import FOLDER, lab_test
from seeds import SEED

from autograde.cells.subject import Subject
from autograde.contract import check as contract
from autograde.contract import show
from autograde.labs.folder import load_checks, load_variants, solution_cells
from autograde.labs.places import REPOSITORY
from autograde.making.tables import finding, labs_of_the_kit, mistakes_let_pass

TRAPS = [(lab, mistake) for lab in labs_of_the_kit(REPOSITORY) for mistake in mistakes_let_pass(lab)]


@pytest.mark.sample(3)
@pytest.mark.parametrize(("lab", "mistake"), TRAPS, ids=[each.mistake.replace(" ", "-") for _, each in TRAPS])
def test_a_mistake_that_usual_checks_let_pass_is_found_by_ours(world, lab, mistake):
    passes = lab_test(lab.folder / FOLDER / "usual_checks.py").USUAL_CHECKS[mistake.variant]
    mistaken = Subject(mistake.todo, load_variants(lab.variants)[1][mistake.todo][mistake.variant].source)
    solution = Subject(mistake.todo, solution_cells(lab.source)[mistake.todo])
    assert passes(world, mistaken, solution)
    assert passes(world, solution, solution), "a usual check that right answers fail would prove nothing"
    check = {check.todo: check for check in load_checks(lab.checks)}[mistake.todo]
    result = contract.run(check, world, mistaken, SEED)
    assert finding(lab, mistake) in [each.key for each in result.findings], show.text(result)
    assert result.score < result.points
