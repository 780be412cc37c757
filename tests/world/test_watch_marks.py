"""Marks stand in a rank's record where they were made, and in no report."""

from __future__ import annotations

from student_cells import call, cell

from course.watch.marks import mark_of, without_marks
from course.world import COMM

MARKED = cell(
    """
    from course.watch.marks import mark

    def f(comm):
        mark(comm, 7)
        comm.allreduce(1)
        mark(comm, 0)
        comm.Send(b"", dest=(comm.rank + 1) % comm.size, tag=7)
        comm.Recv(bytearray(0), tag=7)
    """
)


def test_a_mark_has_its_place_among_the_calls(world):
    world.run(call, MARKED, COMM, size=2)
    for log in world.events:
        assert [mark_of(event) for event in log] == [7, None, 0, None, None]
        assert [event["op"] for event in without_marks(log)] == ["allreduce", "Send", "Recv"]
        starts = [event["start"] for event in log]
        assert starts == sorted(starts)


def test_a_report_does_not_count_marks(world):
    outcome = world.attempt(call, MARKED, COMM, size=2)
    assert "comm.allreduce, comm.Send and comm.Recv" in outcome.report


def test_without_a_record_a_mark_does_nothing(world):
    assert world.run(call, MARKED, COMM, size=2, watch=False) == [None, None]
