"""What runs beside a student's code: a lab's probes, and nothing of its criteria."""

from __future__ import annotations

import pytest
from labs_under_test import LABS

from autograde.labs.folder import beside_students, find_lab, load_lab
from autograde.labs.places import REPOSITORY
from autograde.sandbox.examine import Answers, examine
from autograde.sandbox.needed_modules import modules_needed
from autograde.sandbox.pool import Sandboxes
from autograde.sandbox.resources.limits import Limits

LOOKS_AROUND = """
def partial_sum(f, intervals, rank, size):
    import os, sys
    modules = [name for name in sys.modules if name.startswith(("autograde", "lockstep_lab"))]
    package = os.path.dirname(sys.modules["autograde"].__file__)
    files = os.listdir(".") + os.listdir(package) + os.listdir(os.path.dirname(package))
    raise ValueError(" ".join(sorted(modules)) + " | " + " ".join(sorted(files)))
"""


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)
def test_of_a_lab_its_probes_and_what_they_share_are_shown_as_they_are_and_no_criterion(lab):
    files = beside_students(lab.folder)
    assert {path.partition("/")[0] for path in files} <= {"probes", "shared", "models"}
    assert all((lab.folder / path).read_text() == text for path, text in files.items())
    needed = [path.relative_to(REPOSITORY).as_posix() for path in modules_needed(files.values())]
    assert not [path for path in needed if path.startswith("autograde/rubric")]
    assert "Criterion" not in "".join(files.values())


def test_a_student_s_code_finds_the_probes_in_the_sandbox_and_no_check():
    lab = load_lab(find_lab(REPOSITORY, "03_pi_allreduce"))
    others = ("parallel_pi", "parallel_pi_torch", "parallel_pi_horovod")
    answers = Answers({"partial_sum": LOOKS_AROUND, **dict.fromkeys(others, "")}, frozenset(others))
    with Sandboxes(lab, Limits()) as sandboxes:
        marked = examine(lab, answers, 1, sandboxes).marked
    seen = marked[0].result.findings[0].message
    assert ".probes.partial_sum" in seen and ".shared.parts" in seen
    assert "| " in seen and "course" in seen
    assert not [word for word in ("rubric", ".checks", "criteria", "solutions", "tests") if word in seen]
