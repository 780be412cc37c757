"""Notebooks damaged at random: whatever is handed in, every student is graded or named, and nobody else is harmed.

LOCKSTEP_FUZZ_SEED repeats a run; a failure prints it. LOCKSTEP_FUZZ_COUNT is the number of notebooks.

Running code takes seconds, and damage mostly concerns what is around it. So most notebooks are damaged blank ones,
which grade without a sandbox unless the damage looks like work; every fifteenth is one with right answers.
"""

from __future__ import annotations

import json
import os
import random
import secrets
from pathlib import Path

import pytest
from classroom import Classroom
from harness import LIMITS, NEIGHBOURS
from notebook_damage import damage
from small_course import ANSWERS, LAB, make_course

ANSWERED = 15  # every so many notebooks, one has answers
STATES = {"graded", "needs manual grading"}


@pytest.mark.thorough
@pytest.mark.timeout(600)
def test_every_damaged_notebook_is_graded_or_named_and_harms_nobody(tmp_path: Path):
    seed = int(os.environ.get("LOCKSTEP_FUZZ_SEED") or secrets.randbits(32))
    count = int(os.environ.get("LOCKSTEP_FUZZ_COUNT") or 200)
    again = f"repeat with LOCKSTEP_FUZZ_SEED={seed} LOCKSTEP_FUZZ_COUNT={count}"
    print(again)
    room = Classroom(make_course(tmp_path / "course"), LAB, config=f"c.Judge.limits = {LIMITS!r}")
    assert room.lockstep("build").exit_code == 0
    for student, answers in NEIGHBOURS.items():
        room.put(student, room.answered(answers))
    answered = {f"m{number:04}": number % ANSWERED == 0 for number in range(count)}
    for student, has_answers in answered.items():
        notebook = room.answered(ANSWERS if has_answers else {})
        room.put(student, damage(json.loads(json.dumps(notebook)), random.Random(f"{seed}:{student}")))
    status, output = room.apart("grade", LAB, "--no-collect", "--jobs", "2", "--seed", "5", seconds=500)
    assert status == 0, f"{again}\n{output[-5000:]}"
    rows = room.rows()
    scores = room.scores()
    assert set(rows) == set(scores) == {*NEIGHBOURS, *answered}, again
    assert {student: scores[student] for student in NEIGHBOURS} == {"ada": 5, "bob": 1.5, "zoe": 5}, again
    for student, has_answers in answered.items():
        row = rows[student]
        assert row["status"] in STATES, (again, row)
        for todo, points in (("double", 2), ("total", 3)):
            lost = not row[todo] or float(row[todo]) < points
            assert not lost or f"{todo}:" in row["findings"] or row["status"] == "needs manual grading", (again, row)
            assert has_answers or not row[todo] or float(row[todo]) == 0, (again, row)
            undone = has_answers and f"{todo}:not-done" in row["findings"]
            assert not undone or row["problems"], (again, row)
        assert "\n" not in row["problems"], (again, row)
        assert len(room.feedback(student)) > 1000, (again, student)
