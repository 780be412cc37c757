"""On a machine that others use, right answers keep their points, and hostile ones are called what they are."""

from __future__ import annotations

from pathlib import Path

import pytest
from busy_programs import busy_programs
from small_course import ANSWERS, LAB, make_course

from autograde.labs.folder import find_lab, load_lab
from autograde.sandbox.examine import Answers, examine
from autograde.sandbox.pool import Sandboxes
from autograde.sandbox.resources.limits import GIB, Limits

pytestmark = pytest.mark.alone

COMPUTES = """
def double(x):
    import time
    end = time.process_time() + 1.2
    while time.process_time() < end:
        pass
    return 2 * x
"""
FORKS = """
def double(x):
    import os, time
    for _ in range(100):
        if os.fork() == 0:
            time.sleep(60)
        end = time.process_time() + 0.03
        while time.process_time() < end:
            pass
    return 2 * x
"""


def test_answers_get_what_they_deserve_beside_programs_that_compute(tmp_path: Path):
    lab = load_lab(find_lab(make_course(tmp_path), LAB))
    limits = Limits(todo=3, notebook=60, submission=120, processes=25, memory=16 * GIB)
    with Sandboxes(lab, limits, expected=3, ahead=3) as sandboxes:
        sandboxes.take().close()
        for made_ahead in sandboxes._ready_ahead:
            made_ahead.wait_until_ready()  # before the machine is crowded: starting is not what is tested
        with busy_programs(3):
            for source, findings in ((COMPUTES, []), (FORKS, ["process-limit"])):
                marked = examine(lab, Answers(ANSWERS | {"double": source}, frozenset()), 3, sandboxes).marked
                assert [finding.key for one in marked for finding in one.result.findings] == findings
