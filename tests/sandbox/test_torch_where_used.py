"""The fork server of sandboxes imports torch for the labs that use it: for others it would be four seconds of work."""

from __future__ import annotations

import pytest
from small_course import ANSWERS, LAB, LAB_PY, make_course

from autograde.labs.folder import beside_students, find_lab, uses_torch
from autograde.sandbox.pool import Sandboxes
from autograde.sandbox.resources.limits import Limits

IN_THE_NOTEBOOK = LAB_PY.replace("from course.world import World", "import torch\nfrom course.world import World")
LATE = ANSWERS["double"].replace("return 2 * x", "import torch\n    return int(torch.tensor(2) * x)")


@pytest.mark.parametrize("text, used", [(LAB_PY, False), (IN_THE_NOTEBOOK, True)], ids=["neither", "the notebook"])
def test_whether_a_lab_uses_torch(tmp_path, text, used):
    lab = find_lab(make_course(tmp_path, text), LAB)
    assert uses_torch(lab, beside_students(lab.folder)) is used


def test_a_probe_may_use_it_alone(tmp_path):
    lab = find_lab(make_course(tmp_path), LAB)
    probe = lab.folder / "probes" / "double.py"
    probe.write_text(probe.read_text() + "\nimport torch\n")
    assert uses_torch(lab, beside_students(lab.folder))


@pytest.mark.thorough
def test_an_answer_may_import_it_all_the_same(tmp_path):
    lab = find_lab(make_course(tmp_path), LAB)
    with Sandboxes(lab, Limits()) as made:
        sandbox = made.take()
        sandbox.wait_until_ready()
        question = {"todo": "double", "source": LATE, "case": {"ranks": None, "calls": [{"x": 4}]}, "notebook": {}}
        answer = sandbox.ask(question, sandbox.begin(50))
        sandbox.close()
    assert "'value': 8" in str(answer)
