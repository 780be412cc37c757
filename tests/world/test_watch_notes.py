"""Notes stand in a rank's record where they were made, and are nobody's calls."""

from __future__ import annotations

from student_cells import call, cell

from autograde.contract.evidence import Evidence
from autograde.rubric import Run
from course.figures.ranks.timeline import timeline
from course.watch.messages import messages
from course.watch.notes import note_of, without_notes
from course.world import COMM

NOTED = cell(
    """
    from course.watch.notes import note

    def f(comm):
        note(comm, "multiply begins")
        comm.allreduce(1)
        note(comm.Dup(), "backward of layer 3")
        comm.Send(b"", dest=(comm.rank + 1) % comm.size, tag=7)
        comm.Recv(bytearray(0), tag=7)
        note(comm, "multiply begins")
    """
)


def test_a_note_has_its_name_and_its_place_among_the_calls(world):
    world.run(call, NOTED, COMM, size=2)
    first, last, layer = "multiply begins", "multiply begins", "backward of layer 3"
    for log in world.events:
        assert [note_of(event) for event in log] == [first, None, None, layer, None, None, last]
        assert [event["op"] for event in without_notes(log)] == ["allreduce", "Dup", "Send", "Recv"]
        starts = [event["start"] for event in log]
        assert starts == sorted(starts)
        assert all(event["start"] == event["end"] and event["bytes"] is None for event in log if note_of(event))
    assert len(messages(world.events)) == 2


def test_no_report_and_no_judge_takes_a_note_for_a_call(world):
    outcome = world.attempt(call, NOTED, COMM, size=2)
    assert "comm.allreduce, comm.Dup, comm.Send and comm.Recv" in outcome.report
    run = Run({"size": 2, "calls": [{}]}, outcome.plain(), Evidence)
    assert [len(log) for log in run.of_call(0)] == [4, 4]
    assert [len(log) for log in run.of_call(0, notes=True)] == [7, 7]


def test_a_timeline_has_notes_by_their_names(world):
    world.run(call, NOTED, COMM, size=2)
    figure = timeline(world.events)
    assert figure.alt.endswith("Noted: multiply begins, backward of layer 3.")
    signs = [line for line in figure.axes[0].lines if line.get_gid() == "notes"]
    assert [len(line.get_xdata()) for line in signs] == [2, 1, 2, 1], "by rank and name"
    legend = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert {"multiply begins", "backward of layer 3"} < {*legend} and "note" not in legend


def test_without_a_record_a_note_does_nothing(world):
    assert world.run(call, NOTED, COMM, size=2, watch=False) == [None, None]
