"""The judge of who sends messages to whom, and how many, by mpi4py or by torch."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_events import event

from autograde.rubric import messages_alone, messages_between
from autograde.rubric.judge import Call


def passed_on(library: str, n: int) -> Call:
    """A call in which rank 0 sends n messages to rank 1."""
    about = {"library": library, "tag": 0, "members": [0, 1], "values": None, "bytes": 8}
    sent = [event("send", peer=1, start=at, end=at + 0.1, **about) for at in range(n)]
    came = [event("recv", peer=0, start=0.0, end=at + 0.5, **about) for at in range(n)]
    return Call({"size": 2}, 0, {"n": 2}, [None, None], events=[sent, came])


@pytest.mark.parametrize("library", ["mpi4py", "torch"])
def test_messages_are_to_be_made_by_one_library(library):
    judge = messages_between(lambda call: [(0, 1)], "neighbours", most=2, library=library)
    other = "torch" if library == "mpi4py" else "mpi4py"
    assert judge(passed_on(library, 2)) is None
    assert judge(passed_on(other, 2)).key == "other-library"


def test_too_few_messages_are_not_told_as_none():
    judge = messages_between(lambda call: [(0, 1)], "neighbours", least=lambda call: call.arguments["n"], most=2)
    assert judge(passed_on("mpi4py", 2)) is None
    few, none = judge(passed_on("mpi4py", 1)), judge(passed_on("mpi4py", 0))
    assert (few.key, none.key) == ("fewer-messages-than-needed", "message-missing")
    assert "sends 1 message to rank 1 in one call of your function, where 2 are needed" in few.message


def test_as_many_messages_are_allowed_as_are_asked_for():
    judge = messages_between(lambda call: [(0, 1)], "neighbours", least=lambda call: call.arguments["n"])
    assert judge(passed_on("mpi4py", 2)) is None
    assert judge(passed_on("mpi4py", 3)).key == "more-messages-than-needed"
    with pytest.raises(ValueError, match="at least 3 messages, and at most 2"):
        messages_between(lambda call: [(0, 1)], "neighbours", least=3, most=2)(passed_on("mpi4py", 3))


def test_a_collective_is_no_message_and_neither_is_a_probe_or_a_communicator():
    sent = passed_on("mpi4py", 1)
    beside = [[*log, event("probe"), event("communicator")] for log in sent.events]
    assert messages_alone(replace(sent, events=beside)) is None
    wrong = messages_alone(replace(sent, events=[[*log, event("barrier")] for log in sent.events]))
    assert wrong.key == "collective-among-messages" and "mpi4py's barrier" in wrong.message
