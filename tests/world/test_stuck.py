"""Ranks count as stuck only where nobody has come to an end a moment ago."""

from __future__ import annotations

from course.watch.recorder import Recorder, said
from course.world.stuck import StallDetector


def test_who_is_left_in_a_call_when_another_rank_has_just_returned_may_go_on(tmp_path):
    logs = [str(tmp_path / f"{rank}") for rank in range(2)]
    recorders = [Recorder(log, 0.0) for log in logs]
    for recorder in recorders:
        members = recorder.group([0, 1])
        number = recorder.start("mpi4py", "barrier", said(group=members))
    recorders[0].end(number)
    stall = StallDetector(logs, stall=60.0)
    assert not stall.stalled([0, 1], [])
    stall.changed = [each - 1000 for each in stall.changed]  # as if rank 1 had waited for long
    assert not stall.stalled([1], [0])
    stall.parted -= 1000
    assert stall.stalled([1], [0])
