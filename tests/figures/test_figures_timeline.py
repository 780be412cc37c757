"""The timeline of a real run."""

from __future__ import annotations

from legibility import assert_words_are_readable
from student_cells import call, cell

from course.figures.ranks.timeline import FAMILIES, timeline
from course.watch.events import KINDS
from course.world import COMM

MIXED = cell(
    """
    def f(comm):
        comm.allreduce(1)
        comm.bcast("word")
        if comm.rank == 0:
            comm.send(1, dest=1)
        if comm.rank == 1:
            comm.recv(source=0)
        comm.barrier()
        if comm.rank:
            comm.allreduce(1)
    """
)


def test_each_call_is_a_bar_in_the_row_of_its_rank_and_an_unfinished_one_is_hatched(world):
    outcome = world.attempt(call, MIXED, COMM, size=3)
    assert outcome.state == "hang", "rank 0 leaves out the last reduction"
    figure = timeline(outcome.events)
    (axes,) = figure.axes
    bars = axes.patches
    assert len(bars) == sum(len(rank) for rank in outcome.events)
    for row, rank in enumerate(outcome.events):
        assert sum(abs(bar.get_y() + bar.get_height() / 2 - row) < 0.1 for bar in bars) == len(rank)
    unfinished = sum(event["end"] is None for rank in outcome.events for event in rank)
    assert sum(bool(bar.get_hatch()) for bar in bars) == unfinished
    assert_words_are_readable(figure)
    assert len(figure.png()) > 5_000


def test_the_run_is_shown_whole_where_its_seconds_are_given():
    event = {"kind": "allreduce", "start": 0.01, "end": None}
    axes = timeline([[], [event]], seconds=3.0).axes[0]
    assert axes.get_xlim() == (0.0, 3.0)
    assert axes.patches[0].get_x() + axes.patches[0].get_width() == 3.0


def test_a_run_without_communication_has_a_picture_too():
    assert timeline([[], []]).axes[0].patches[:] == []


def test_every_kind_of_call_has_a_colour():
    assert {kind for family in FAMILIES for kind in family} == {*KINDS.values(), "other"}
