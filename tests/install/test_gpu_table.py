"""The table of `python tests/gpu`: what a step that does not end leaves in it."""

from __future__ import annotations

import runpy
import shutil
from pathlib import Path

import pytest

GPU = Path(__file__).resolve().parents[1] / "gpu"

STEPS = """
import time
print('row {"what": "shard", "result": "passed", "detail": "3 of 3 points", "seconds": 0.1}', flush=True)
time.sleep(60)
"""


@pytest.mark.thorough  # it asks a clock
def test_a_step_that_is_stopped_keeps_its_rows_and_says_why_it_has_no_more(tmp_path):
    folder = tmp_path / "tests" / "gpu"
    folder.mkdir(parents=True)
    table = shutil.copy(GPU / "__main__.py", folder)
    (folder / "steps.py").write_text(STEPS)
    rows = runpy.run_path(table)["run_step"]("checks", 3)
    assert [(row["what"], row["result"], row["detail"]) for row in rows] == [
        ("shard", "passed", "3 of 3 points"),
        ("checks", "FAILED", "stopped after 3 s"),
    ]
