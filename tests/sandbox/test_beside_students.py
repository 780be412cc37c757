"""What runs beside a student's code: a lab's probes, and nothing of its criteria."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab_packages import write_package
from labs_under_test import LABS
from small_course import LAB, make_course

from autograde.labs.folder import beside_students, find_lab, load_lab
from autograde.labs.places import REPOSITORY
from autograde.sandbox.examine import Answers, examine
from autograde.sandbox.needed_modules import modules_needed
from autograde.sandbox.pool import Sandboxes
from autograde.sandbox.resources.limits import Limits

LOOKS_AROUND = """
def double(x):
    import os, sys
    package = os.path.dirname(sys.modules["autograde"].__file__)
    files = os.listdir(".") + os.listdir(package) + os.listdir(os.path.dirname(package))
    own = [name.partition(".")[2] for name in sys.modules if name.startswith("lockstep_lab")]
    there = " ".join([*files, *own, *(name for name in sys.modules if name.startswith("autograde"))])
    judging = [word for word in ("rubric", "checks", "criteria", "solutions", "tests") if word in there]
    raise ValueError(f"{len(files)} files; {' '.join(sorted(own))}; {judging}; {'course' in files}")
"""


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)
def test_of_a_lab_its_probes_and_what_they_share_are_shown_as_they_are_and_no_criterion(lab):
    files = beside_students(lab.folder)
    assert {path.partition("/")[0] for path in files} <= {"probes", "shared", "models"}
    assert all((lab.folder / path).read_text() == text for path, text in files.items())
    needed = [path.relative_to(REPOSITORY).as_posix() for path in modules_needed(files.values())]
    assert not [path for path in needed if path.startswith("autograde/rubric")]
    assert "Criterion" not in "".join(files.values())


def test_a_student_s_code_finds_the_probes_in_the_sandbox_and_no_check(tmp_path: Path):
    course = make_course(tmp_path)
    folder = course / "solutions" / LAB
    write_package(folder / "shared", "# == __init__.py\n# == parts.py\nPARTS = 2\n")
    probe = folder / "probes" / "double.py"
    probe.write_text(f"from ..shared import parts\n{probe.read_text()}")
    lab = load_lab(find_lab(course, LAB))
    answers = Answers({"double": LOOKS_AROUND, "total": ""}, frozenset({"total"}))
    with Sandboxes(lab, Limits()) as sandboxes:
        marked = examine(lab, answers, 1, sandboxes).marked
    seen = marked[0].result.findings[0].message
    assert " probes.double " in seen and " shared.parts;" in seen
    assert "; []; True" in seen
