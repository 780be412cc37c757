"""What a timeline says in words, below it and to those who cannot see it: who waits for whom, and how long."""

from __future__ import annotations

import pytest
from made_events import event

from course.figures.ranks.timeline import timeline
from course.watch.events import Event

THREE = [0, 1, 2]


def reduction(starts: list[float | None], end: float | None = 1.0, **about) -> list[list[Event]]:
    """One call that ranks come to at these times, in seconds, or do not come to."""
    about = {"members": [*range(len(starts))], "line": 8, **about}
    return [[] if start is None else [event(start=start, end=end, **about)] for start in starts]


def said(events: list[list[Event]]) -> str:
    """The sentence about waits."""
    return timeline(events).alt.partition(". ")[2]


def test_it_says_how_many_calls_there_are():
    assert timeline([]).alt == "Timeline of 0 communication calls on 0 ranks. No rank waits for another."
    assert timeline([[event(members=[0])]]).alt.startswith("Timeline of 1 communication call on 1 rank.")
    assert timeline(reduction([0.1, 0.2, 0.3])).alt.startswith("Timeline of 3 communication calls on 3 ranks.")


def test_what_it_says_is_below_the_picture_for_all_to_read_and_a_rank_without_a_call_is_told():
    picture = timeline(reduction([None, 0.0, 0.1], None))
    for each in (picture, picture.dark):
        assert " ".join(each.get_supxlabel().split()) == picture.alt.partition(". ")[2]
        assert [(text.get_text(), text.get_position()[1]) for text in each.axes[0].texts] == [("calls nothing", 0)]


def test_the_rank_that_comes_first_waits_for_the_one_that_comes_last():
    events = reduction([0.100, 0.120, 0.172])
    assert said(events) == "Longest wait: rank 0 waits 72 ms in comm.allreduce (line 8) for rank 2, which comes last."


@pytest.mark.parametrize("seconds, text", [(12.4, "12 s"), (1.26, "1.3 s"), (0.26, "260 ms"), (0.0026, "2.6 ms")])
def test_a_time_is_said_with_two_digits_or_more(seconds, text):
    assert f" waits {text} in " in said(reduction([0.0, seconds], end=20.0))


def test_calls_of_a_kind_on_the_same_ranks_meet_in_their_order():
    """Else the second call of rank 0 would be late for the first one of rank 1."""
    first, second, other = reduction([0.10, 0.11], 0.2), reduction([0.5, 0.3], 0.6), [[], []]
    other[0] = [event("barrier", start=0.25, end=0.45)]
    events = [one + between + two for one, between, two in zip(first, other, second, strict=True)]
    assert "rank 1 waits 200 ms in comm.allreduce (line 8) for rank 0" in said(events)


def test_calls_on_other_ranks_are_not_mixed_with_them():
    pairs = [event(start=0.1, end=0.2, members=[0, 2], line=3), event(start=0.11, end=0.2, members=[2, 0], line=3)]
    events = reduction([0.5, 0.4, 0.5])
    assert "rank 1 waits 100 ms" in said([[pairs[0], *events[0]], events[1], [pairs[0], *events[2]]])


def test_a_rank_that_computes_meanwhile_waits_from_when_it_begins_to_wait():
    started = event(op="Iallreduce", start=0.1, waited=0.4, end=0.6)
    late = event(op="Iallreduce", start=0.5, waited=0.55, end=0.6)
    assert "rank 0 waits 100 ms to complete comm.Iallreduce" in said([[started], [late]])
    unwaited = {**started, "waited": None, "end": None, "state": "under way"}
    assert said([[unwaited], [late]]) == "", "it is not known when rank 0 waits"


def test_only_the_root_of_a_broadcast_is_waited_for_by_the_others_and_it_waits_for_nobody():
    root, early, late = (
        event("broadcast", op="bcast", peer=0, members=THREE, start=start) for start in (0.3, 0.1, 0.8)
    )
    root["end"], early["end"], late["end"] = 0.31, 0.32, 0.82
    found = said([[root], [early], [late]])
    assert "rank 1 waits 200 ms in comm.bcast (line 7) for rank 0, which is the root and comes late" in found


def test_who_leaves_before_the_last_one_comes_did_not_wait_for_it():
    bring, root, late = (event("reduce", peer=1, members=THREE, start=start, end=0.9) for start in (0.0, 0.5, 0.8))
    bring["end"] = 0.01
    assert "rank 1 waits 300 ms in comm.reduce (line 7) for rank 2" in said([[bring], [root], [late]])


def message(sent: tuple[float, float], received: tuple[float, float], **about) -> list[list[Event]]:
    """A message from rank 0 to rank 1: when the calls begin and end."""
    send = event("send", op="ssend", peer=1, tag=0, start=sent[0], end=sent[1], line=2)
    return [[send], [event("recv", peer=0, tag=0, start=received[0], end=received[1], line=4, **about)]]


def test_a_receive_waits_for_the_send_and_a_send_that_cannot_go_on_for_the_receive():
    late = message((0.5, 0.51), (0.1, 0.52))
    assert said(late) == "Longest wait: rank 1 waits 400 ms in comm.recv (line 4) for rank 0, which sends late."
    assert "rank 1 waits 100 ms" in said(message((0.5, 0.51), (0.1, 0.52), op="irecv", waited=0.4))
    blocked = message((0.1, 0.72), (0.7, 0.72))
    assert said(blocked) == "Longest wait: rank 0 waits 600 ms in comm.ssend (line 2) for rank 1, which receives late."
    assert said(message((0.1, 0.2), (0.7, 0.72))) == "No rank waits for another.", "the send had gone on"


def test_in_a_hang_it_says_who_never_came():
    hang = reduction([None, 0.1, 0.2], None, state="called")
    text = "in comm.allreduce (line 8) for rank 0, which never makes that call."
    assert said(hang) == f"Ranks 1 and 2 wait for ever {text}"
    text = "in comm.allreduce (line 8) for ranks 0 and 2, which never make that call."
    assert said(reduction([None, 0.1, None], None, state="called")) == f"Rank 1 waits for ever {text}"


def test_in_a_hang_a_rank_that_makes_the_call_on_another_communicator_is_not_said_to_leave_it_out():
    calls = [[event(members=[0, 1], context=number, end=None, state="called", line=8)] for number in range(2)]
    text = (
        "Rank {} waits for ever in comm.allreduce (line 8) for rank {}, which makes that call on another communicator"
    )
    assert said(calls) == f"{text.format(0, 1)}; {text[0].lower()}{text[1:].format(1, 0)}."


def test_in_a_hang_of_a_broadcast_only_its_root_is_missed():
    hang = reduction([None, 0.1, None], None, kind="broadcast", peer=0, state="called")
    assert said(hang).endswith("for rank 0, which never makes that call.")


def test_a_hang_is_said_rather_than_a_wait_however_long():
    waits = reduction([0.0, 50.0], 60.0)
    hang = reduction([None, 70.0], None, state="called")
    assert said([one + two for one, two in zip(waits, hang, strict=True)]).startswith("Rank 1 waits for ever")


def test_in_a_hang_between_two_it_names_the_other_one_if_it_is_known():
    for number, name in ((1, " for rank 1"), (None, "")):
        hang = event("recv", op="Recv", peer=number, end=None, state="called")
        assert said([[hang], []]) == f"Rank 0 waits for ever in comm.Recv (line 7){name}."
    both = event("sendrecv", peer=1, source=2, members=THREE, end=None, state="called", line=None)
    assert said([[both], [], []]) == "Rank 0 waits for ever in comm.sendrecv for rank 2."


def test_of_many_ranks_that_wait_for_each_other_it_names_four():
    members = [*range(8)]
    ring = [[event("recv", peer=(rank - 1) % 8, members=members, end=None, state="called")] for rank in members]
    clauses = [f"rank {rank} waits for ever in comm.recv (line 7) for rank {(rank - 1) % 8}" for rank in range(4)]
    assert said(ring) == "; ".join([*clauses, "so do 4 more ranks."]).capitalize()
