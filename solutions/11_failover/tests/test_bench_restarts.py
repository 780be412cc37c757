"""The bench of restarts: what it makes of the moments that ranks note."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

from ..bench.restarts import TORCHRUN, parts, table, whens

BENCH = Path(__file__).resolve().parents[1] / "bench"


def write(folder: Path, rank: int, **moments: float) -> None:
    """What a rank has noted in attempt 1."""
    lines = [json.dumps([what, when]) for what, when in moments.items()]
    (folder / f"attempt-1-rank-{rank}").write_text("\n".join(lines) + "\n")


def test_an_attempt_has_come_somewhere_when_its_last_rank_has(tmp_path):
    write(tmp_path, 0, process=1.0, group=3.0, step=4.0, end=8.0)
    write(tmp_path, 1, process=2.0, group=2.5, killed=7.0)
    (tmp_path / "attempt-10-rank-0").write_text('["process", 99.0]\n')
    assert whens(tmp_path, 1, 2) == {"process": 2.0, "group": 3.0, "killed": 7.0}
    assert whens(tmp_path, 2, 2) == {}


def test_a_table_has_the_parts_and_their_sum():
    moments = [[0.0, 1.0, 3.0, 7.0], [10.0, 13.0, 14.0, 17.0]]
    assert parts(moments) == [[1.0, 3.0], [2.0, 1.0], [4.0, 3.0]]
    lines = table(TORCHRUN, moments, 2.0).splitlines()
    assert lines[1].split()[-6:] == ["kill", "1.0", "s", "2.0", "s", "1.0"]
    assert lines[-1].split()[-6:] == ["kill", "7.0", "s", "7.0", "s", "3.5"]
    assert len(lines) == 1 + 3 + 1


def test_a_process_knows_when_it_began():
    before = time.time()
    code = "import time; time.sleep(0.5); from noted_attempts import process_began; print(process_began())"
    said = subprocess.run([sys.executable, "-c", code], cwd=BENCH, capture_output=True, text=True, check=True).stdout
    assert before - 0.02 <= float(said) < time.time() - 0.5
