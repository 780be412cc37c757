"""Judges of messages: between whom, how large, and in how many rounds, on a ring and elsewhere."""

from __future__ import annotations

from made_events import event

from autograde.rubric import Ring, too_large
from autograde.rubric.communication.traffic import Traffic, traffic
from autograde.rubric.judge import Call


def passed_on(ranks: int, *sizes: int) -> list[list[dict]]:
    """Messages of these sizes from each rank to the next one, as soon as it has the one before."""
    logs: list[list[dict]] = [[] for _ in range(ranks)]
    for rank in range(ranks - 1):
        for number, size in enumerate(sizes):
            at = float(rank + number * ranks)
            about = {"tag": 0, "members": [*range(ranks)], "values": None}
            logs[rank].append(event("send", peer=rank + 1, bytes=size, start=at, end=at + 0.1, **about))
            logs[rank + 1].append(event("recv", peer=rank, bytes=0, start=0.0, end=at + 0.5, **about))
    return logs


def seen(ranks: int, *sizes: int) -> Traffic:
    """The traffic of these."""
    return traffic(passed_on(ranks, *sizes))


RING = Ring(lambda size: 1, whole=lambda call: 8, chunk=lambda call: 8, seen=lambda call: traffic(call.events))


def test_messages_off_the_ring_are_told_by_pair():
    back = traffic([*passed_on(3, 8)[:2], [event("send", peer=1, bytes=8, tag=0, members=[0, 1, 2])]])
    wrong = RING.neighbours(back, 100)
    assert wrong.key == "message-to-another-rank"
    assert "Rank 2 sends a message to rank 1. Only a rank and the next one in the ring should" in wrong.message
    assert RING.neighbours(seen(3, 8), 100) is None


def test_a_message_may_have_so_many_bytes():
    wrong = too_large(seen(3, 8, 24), 8, "float64", "Where do you cut?")
    assert wrong.message.endswith("sends a message of 24 bytes to rank 1, where 8 are enough. Where do you cut?")
    assert too_large(seen(3, 8, 24), 12, "float32", "").key == "twice-the-bytes"
    assert too_large(seen(3, 8, 24), 24, "float64", "") is None


def test_a_rank_may_send_and_receive_so_many_bytes_where_all_go_through_it():
    line = seen(3, 8, 24)
    wrong = RING.through_one(line, 63)
    assert "through rank 1: it sends and receives 64 bytes" in wrong.message
    assert wrong.message.endswith("on every rank of a ring. What could the others say to each other without it?")
    assert RING.through_one(line, 64) is None
    assert RING.through_one(seen(4, 8), 0) is None, "there are messages that no one rank has a part in"


def test_messages_may_take_so_many_rounds():
    def judged(steps: int):
        ring = Ring(lambda size: steps, whole=lambda call: 8, chunk=lambda call: 8)
        return ring.rounds(Call({}, 0, {}, [None] * 4, passed_on(4, 8)))

    assert judged(3) is None
    assert judged(2).key == "in-turns"
    wrong = judged(1)
    assert wrong.key == "rounds-too-many"
    assert "take 3 rounds, one after the other, where 1 are enough on 4 ranks" in wrong.message


def test_of_two_communicators_that_are_mixed_up_no_message_is_taken_for_another():
    logs = passed_on(2, 8)
    logs[1][0] = {**logs[1][0], "context": 1}
    assert [each.arrived for each in traffic(logs).messages] == [None]
