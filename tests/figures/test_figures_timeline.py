"""The timeline of a real run, and of runs made by hand."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pytest
from legibility import (
    Drawn,
    assert_looks_at_home_on_a_dark_ground,
    assert_sharp_on_light_ground,
    assert_text_stands_out,
    assert_words_are_readable,
)
from made_events import event
from matplotlib.collections import Collection
from matplotlib.colors import to_hex, to_rgb
from matplotlib.transforms import Bbox
from student_cells import call, cell

from course.figures.contrast import contrast
from course.figures.ranks.call_colours import FAMILIES, colour, group_name
from course.figures.ranks.timeline import NARROWEST, timeline
from course.figures.style import Picture
from course.watch.events import BY_KIND, WINDOW, Event
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
        comm.Split(comm.rank % 2).barrier()
        comm.Ibarrier().Wait()
        if comm.rank:
            comm.allreduce(1)
    """
)


def message(source: int, destination: int, sent: float, arrived: float | None, size: int) -> list[list[Event]]:
    """The events of a run of `size` ranks with one message; if it does not arrive, nobody receives."""
    events: list[list[Event]] = [[] for _ in range(size)]
    about = {"tag": 0, "members": list(range(size))}
    events[source].append(event("send", peer=destination, start=sent, end=sent + 0.01, **about))
    if arrived is not None:
        events[destination].append(event("recv", peer=source, start=0.0, end=arrived, **about))
    return events


def exchange(size: int, rounds: int) -> list[list[Event]]:
    """A ring: in each round, a rank sends to the next one, and receives from the one before. 1 ms a round."""
    events: list[list[Event]] = []
    for rank in range(size):
        about = {"members": list(range(size)), "tag": 0}
        left, right = (rank - 1) % size, (rank + 1) % size
        starts = [1e-3 * number + 1e-5 * rank for number in range(rounds)]
        events.append([])
        for start in starts:
            sends = event("send", op="isend", peer=right, start=start, waited=start + 4e-4, end=start + 5e-4, **about)
            events[rank] += [sends, event("recv", peer=left, start=start + 1e-4, end=start + 4e-4, **about)]
    return events


def drawn(figure: Picture, gid: str) -> Iterator[Collection]:
    """The collections of this name."""
    return (collection for collection in figure.axes[0].collections if collection.get_gid() == gid)


def boxes(figure: Picture, gid: str = "calls") -> list[Bbox]:
    """Where bars or lines are: on the time axis, and in rows."""
    return [path.get_extents() for collection in drawn(figure, gid) for path in collection.get_paths()]


def spans(figure: Picture, gid: str = "calls") -> list[tuple[float, float]]:
    """When bars or lines begin and end, on the time axis."""
    return [(pytest.approx(box.x0, abs=0.01), pytest.approx(box.x1, abs=0.01)) for box in boxes(figure, gid)]


def colours(figure: Picture) -> list[tuple]:
    """The colours of the bars."""
    return [tuple(face) for collection in drawn(figure, "calls") for face in collection.get_facecolors()]


def named(figure: Picture) -> list[str]:
    """What the legend names, each on one line, beside the time between calls, which most runs have."""
    legend = figure.axes[0].get_legend()
    names = [text.get_text().replace("\n", " ") for text in legend.get_texts()] if legend else []
    return [name for name in names if name != "between calls"]


def test_each_call_of_a_run_is_in_the_row_of_its_rank_and_an_unfinished_one_is_hatched(world):
    outcome = world.attempt(call, MIXED, COMM, size=3)
    assert outcome.state == "hang", "rank 0 leaves out the last reduction"
    figure = timeline(outcome.events)
    bars = boxes(figure) + boxes(figure, "unfinished")
    assert len(bars) == sum(len(rank) for rank in outcome.events)
    for row, rank in enumerate(outcome.events):
        assert sum(row - 0.5 < bar.y0 and bar.y1 < row + 0.5 for bar in bars) == len(rank)
    assert len(boxes(figure, "unfinished")) == 2
    assert all(collection.get_hatch() for collection in drawn(figure, "unfinished"))
    assert len(boxes(figure, "under way")) == 3, "each rank's Ibarrier"
    (arrows,) = drawn(figure, "messages")
    assert (np.round(arrows.Y), np.round(arrows.Y + arrows.V)) == (0, 1)
    assert {"message", "on ranks 0, 2", "on rank 1", "never finished"} < set(named(figure))
    assert "Ranks 1 and 2 wait for ever in comm.allreduce (line 11) for rank 0" in figure.alt
    for ground in (figure, figure.dark):
        assert_words_are_readable(Drawn(ground))
        assert len(ground.png()) > 5_000


def test_the_time_before_and_between_calls_is_pale_and_what_comes_after_the_last_is_not_known():
    under_way = event(start=0.2, waited=0.4, end=0.5)
    figure = timeline([[event(start=0.1, end=0.2), under_way], [event(start=0.0, end=0.3)], []], seconds=0.8)
    assert spans(figure, "between calls") == [(0, 100), (200, 400)]
    assert "between calls" in [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    hung = timeline([[event(start=0.1, end=None, state="called")], []], seconds=0.8)
    assert spans(hung, "between calls") == [(0, 100)]


@pytest.mark.parametrize("source, destination", [(0, 1), (3, 0), (2, 2)])
def test_a_message_is_an_arrow_from_the_start_of_its_send_to_the_end_of_its_receive(source, destination):
    (arrow,) = drawn(timeline(message(source, destination, 0.25, 0.75, 4)), "messages")
    assert np.allclose((arrow.X, arrow.X + arrow.U), ([250], [750]))
    assert abs(arrow.Y - source) < 0.5 and abs(arrow.Y + arrow.V - destination) < 0.5
    assert (arrow.angles, arrow.scale, arrow.scale_units) == ("xy", 1, "xy"), "it ends where it should"


@pytest.mark.parametrize("source, destination", [(0, 3), (3, 0)])
def test_a_message_that_nobody_receives_is_a_dashed_stub_towards_its_destination(source, destination):
    figure = timeline(message(source, destination, 0.5, None, 4))
    assert not list(drawn(figure, "messages"))
    (stub,) = drawn(figure, "lost messages")
    (x, y), (x_end, y_end) = stub.get_segments()[0]
    assert x == pytest.approx(500) and x < x_end <= figure.axes[0].get_xlim()[1]
    assert abs(y - source) < 0.5 and 0 < (y_end - y) * np.sign(destination - source) < 1
    assert stub.get_linestyle()[0][1] is not None
    assert "message not received" in named(figure)


def test_arrows_get_thinner_and_fainter_where_there_are_many():
    few, many, most = (next(drawn(timeline(exchange(4, rounds)), "messages")) for rounds in (15, 16, 200))
    assert few.get_alpha() > many.get_alpha() > 2 * most.get_alpha() > 0
    assert few.width > many.width


def test_calls_on_fewer_ranks_have_a_shade_for_each_group_and_the_legend_names_four_groups():
    groups = [[0, 1, 2], [0, 1], [2, 1], [0, 2], [1], [1, 0]]
    calls = [event(members=group, start=number, end=number + 0.5) for number, group in enumerate(groups)]
    whole, first, second, third, fourth, again = colours(figure := timeline([calls, [], []]))
    assert whole[:3] == to_rgb(colour("allreduce"))
    assert len({whole, first, second, third}) == 4
    assert (fourth, again) == (first, first), "three shades, and the order of a group's ranks does not matter"
    assert named(figure)[1:] == ["on ranks 0, 1", "on ranks 1, 2", "on ranks 0, 2", "on rank 1"]
    more = timeline([[*calls, event(members=[0], start=8.0, end=8.5)], [], []])
    assert named(more)[1:] == [*named(figure)[1:], "…"]
    assert_words_are_readable(Drawn(more))


def test_a_call_whose_communicator_is_not_known_counts_as_one_on_all_ranks():
    figure = timeline([[event(members=None)], [event(members=[None, None])]])
    assert {shade[:3] for shade in colours(figure)} == {to_rgb(colour("allreduce"))}
    assert named(figure) == ["allreduce"]


def test_the_name_of_a_group_is_short():
    assert group_name([0, 2, 3, 5, 6, 7]) == "on ranks 0, 2, 3, 5–7"
    assert group_name(range(0, 40, 2)) == "on ranks 0, 2, 4, 6, 8, 10, 12, 14, …"


@pytest.mark.parametrize(
    "about, line, bar",
    [
        ({"waited": 0.1, "end": 0.4}, [], [(100, 400)]),
        ({"waited": 0.3, "end": 0.4}, [(100, 300)], [(300, 400)]),
        ({"waited": None, "end": 0.4}, [(100, 400)], [(400, 400 + 525 * NARROWEST)]),
    ],
)
def test_a_line_is_the_time_that_an_operation_goes_on_by_itself_and_a_bar_that_of_waiting(about, line, bar):
    figure = timeline([[event(start=0.1, **about), event(start=0.4, end=0.5)], []])
    assert (spans(figure, "under way"), spans(figure)) == (line, [*bar, (400, 500)])
    assert ("under way" in named(figure)) == bool(line)


@pytest.mark.parametrize(
    "about, line, bar, name",
    [
        ({"waited": 0.1, "state": "called"}, [], [(100, 525)], "never finished"),
        ({"waited": 0.3, "state": "awaited"}, [(100, 300)], [(300, 525)], "never finished"),
        ({"waited": None, "state": "under way"}, [(100, 525)], [], "end not seen"),
    ],
)
def test_what_did_not_end_reaches_to_the_right_edge_as_a_hatched_bar_or_as_a_line_with_an_open_end(
    about, line, bar, name
):
    figure = timeline([[event(start=0.1, end=None, **about)], [event(start=0.4, end=0.5)]])
    assert (spans(figure, "under way"), spans(figure, "unfinished")) == (line, bar)
    assert all(collection.get_hatch() for collection in drawn(figure, "unfinished"))
    assert figure.axes[0].get_xlim()[1] == pytest.approx(525, rel=1e-4)
    open_ends = [mark for mark in figure.axes[0].lines if mark.get_gid() == "end not seen"]
    assert [mark.get_markerfacecolor() for mark in open_ends] == ["none"] * (not bar)
    assert {"never finished", "end not seen"} & {*named(figure)} == {name}


def test_calls_of_a_rank_at_the_same_time_lie_side_by_side():
    times = [(0.0, 0.3), (0.1, 0.2), (0.2, 0.4), (0.4, 0.5)]
    figure = timeline([[event(start=start, end=end) for start, end in times], []])
    bars = boxes(figure)
    shared = [Bbox.intersection(one, other) for one, other in combinations(bars, 2)]
    assert not any(box is not None and min(box.width, box.height) > 1e-9 for box in shared)
    assert bars[3].height > 1.9 * bars[0].height, "it is alone"
    crowded = timeline([[event(start=0.001 * number, end=1.0) for number in range(50)], []])
    assert min(bar.height for bar in boxes(crowded)) > 0.05


@pytest.mark.parametrize("events", [exchange(8, 32), exchange(8, 250), exchange(40, 3)])
def test_a_long_run_on_many_ranks_can_be_read(events):
    figure = timeline(events)
    axes = figure.axes[0]
    shortest = NARROWEST * (axes.get_xlim()[1] - axes.get_xlim()[0])
    assert min(bar.width for bar in boxes(figure)) > 0.99 * shortest
    assert figure.get_size_inches()[1] < 10
    assert_words_are_readable(Drawn(figure))


def test_the_run_is_shown_whole_where_its_seconds_are_given():
    axes = timeline([[], [event(start=0.01, end=None)]], seconds=3.0).axes[0]
    assert axes.get_xlim() == (0.0, 3.0)


def test_it_can_begin_at_a_barrier_and_leaves_out_what_was_before():
    late = [event("barrier", start=0.1, end=0.6), event(start=0.7, end=0.8)]
    early = [event(start=0.0, end=0.1), event("barrier", start=0.2, end=0.65), event(start=0.65, end=0.8)]
    figure = timeline([late, early], since_barrier=1)
    assert spans(figure) == [(100, 200), (50, 200)]
    assert figure.axes[0].get_xlabel() == "time since the barrier [ms]"
    with pytest.raises(ValueError, match="rank 0 has left 1 barriers, and not 2"):
        timeline([late, early], since_barrier=2)


def test_a_run_without_communication_and_one_on_one_rank_have_pictures_too():
    for events in ([], [[]], [[], []], [[event(members=[0])]]):
        figure = timeline(events)
        assert len(boxes(figure)) == sum(map(len, events))
        assert named(figure) == ["allreduce"] * sum(map(len, events))
        assert_words_are_readable(Drawn(figure))


def test_every_kind_of_call_has_a_colour_and_its_family_is_in_the_legend_if_it_occurs():
    kinds = [*BY_KIND, WINDOW, "other"]
    assert sorted(kind for family in FAMILIES for kind in family) == sorted(kinds)
    assert len({colour(family[0]) for family in FAMILIES}) == len(FAMILIES) <= 8
    figure = timeline([[event(kind, start=number) for number, kind in enumerate(kinds)], []])
    assert named(figure)[: len(FAMILIES)] == [", ".join(family) for family in FAMILIES]
    assert named(timeline([[event("recv"), event("barrier")], []])) == ["recv", "barrier"]
    assert_words_are_readable(Drawn(figure))


def test_it_looks_at_home_on_a_light_and_on_a_dark_ground():
    events = message(0, 1, 0.5, 0.7, 2)
    figure = timeline(events)
    assert_sharp_on_light_ground(Drawn(figure))
    assert_looks_at_home_on_a_dark_ground(Drawn(figure))
    for picture in (figure, figure.dark):
        assert_text_stands_out(Drawn(picture))
        (arrow,) = drawn(picture, "messages")
        assert contrast(to_hex(arrow.get_facecolor()[0][:3]), picture.ground.paper) >= 4.5
