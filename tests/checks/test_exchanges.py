"""Verdicts on messages: between whom, how many, how large, in how many rounds, and what is no message."""

from __future__ import annotations

from made_events import event

from autograde.rubric.communication.exchanges import (
    collectives_among,
    more_rounds,
    other_pairs,
    through_one,
    too_large,
)
from autograde.rubric.communication.traffic import Traffic, traffic


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


PAIRS = {(0, 1), (1, 2)}


def test_messages_between_others_are_told_by_pair():
    (found,) = other_pairs(seen(3, 8), {(0, 1)}, "ranks 0 and 1")
    assert found.key == "other-messages" and "Rank 1 sends a message to rank 2. Only ranks 0 and 1" in found.message
    assert other_pairs(seen(3, 8), PAIRS, "neighbours") == []


def test_a_message_may_have_so_many_bytes():
    (found,) = too_large(seen(3, 8, 24), 8, "Where do you cut?")
    assert found.message.endswith("sends a message of 24 bytes to rank 1, where 8 are enough. Where do you cut?")
    assert too_large(seen(3, 8, 24), 24, "") == []


def test_a_rank_may_send_and_receive_so_many_bytes_where_all_go_through_it():
    line = seen(3, 8, 24)
    (found,) = through_one(line, 63, "of a ring")
    assert "through rank 1: it sends and receives 64 bytes" in found.message
    assert " ".join(found.message.split()).endswith(
        "where 63 are enough on every rank of a ring. What could the others say to each other without it?"
    )
    assert through_one(line, 64, "of a ring") == []
    assert through_one(seen(4, 8), 0, "of a ring") == [], "there are messages that no one rank has a part in"


def test_messages_may_take_so_many_rounds():
    (found,) = more_rounds(seen(4, 8), 2)
    assert (
        found.key == "rounds-too-many"
        and "take 3 rounds, one after the other, where 2 are enough on 4" in found.message
    )
    assert more_rounds(seen(4, 8), 3) == []


def test_a_collective_is_no_message_and_a_probe_is_none_either():
    logs = passed_on(2, 8)
    assert collectives_among([[*log, event("probe"), event("communicator")] for log in logs], "partners") == []
    (found,) = collectives_among([[*log, event("barrier")] for log in logs], "partners", "report")
    assert (found.key, found.report) == ("collective-for-messages", "report") and "mpi4py's barrier" in found.message


def test_of_two_communicators_that_are_mixed_up_no_message_is_taken_for_another():
    logs = passed_on(2, 8)
    logs[1][0] = {**logs[1][0], "context": 1}
    assert [each.arrived for each in traffic(logs).messages] == [None]
