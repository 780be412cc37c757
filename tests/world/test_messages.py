"""Messages and their rounds, of real runs and of events made by hand."""

from __future__ import annotations

import textwrap
import time

import pytest
from made_events import event
from student_cells import call, cell

from course.watch.messages import messages, rounds
from course.world import COMM

BEGIN = "import numpy as np\nfrom mpi4py import MPI\nimport torch\nimport torch.distributed as dist\n\n"
ASKED = {
    "three Isends of one rank": """
        def f(comm):
            if comm.rank == 0:
                MPI.Request.Waitall([comm.Isend(np.ones(3), other) for other in (1, 2, 3)])
            else:
                comm.Recv(np.zeros(3), source=MPI.ANY_SOURCE)
    """,
    "a receive posted before the send and waited for after it": """
        def f(comm):
            request = comm.Irecv(np.zeros(3), (comm.rank - 1) % comm.size)
            comm.Send(np.ones(3), (comm.rank + 1) % comm.size)
            request.Wait()
    """,
    "what is passed on": """
        def f(comm):
            number = comm.recv(source=comm.rank - 1) if comm.rank else 0
            if comm.rank + 1 < comm.size:
                comm.send(number + 1, comm.rank + 1)
    """,
    "sends and receives in one call": """
        def f(comm):
            for distance in (1, 2):
                comm.Sendrecv_replace(np.ones(3), comm.rank ^ distance, 0, comm.rank ^ distance)
                comm.sendrecv("text", comm.rank ^ distance, source=comm.rank ^ distance)
            comm.Isendrecv(np.ones(1), comm.rank ^ 1, 0, np.zeros(1), comm.rank ^ 1).Wait()
    """,
    "pairs of a split communicator": """
        def f(comm):
            half = comm.Split(comm.rank % 2, comm.rank)
            half.sendrecv(comm.rank, 1 - half.rank, source=1 - half.rank)
    """,
    "batches of torch": """
        def f(comm):
            right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
            for _ in range(2):
                operations = [dist.P2POp(dist.isend, torch.ones(2), right), dist.P2POp(dist.irecv, torch.ones(2), left)]
                for work in dist.batch_isend_irecv(operations):
                    work.wait()
    """,
    "persistent requests": """
        def f(comm):
            requests = [comm.Recv_init(np.zeros(2), comm.rank ^ 1), comm.Send_init(np.ones(2), comm.rank ^ 1)]
            for _ in range(3):
                MPI.Prequest.Startall(requests)
                MPI.Request.Waitall(requests)
    """,
}
FOUND = {
    "three Isends of one rank": (3, {(0, 1), (0, 2), (0, 3)}),
    "a receive posted before the send and waited for after it": (1, {(0, 1), (1, 2), (2, 3), (3, 0)}),
    "what is passed on": (3, {(0, 1), (1, 2), (2, 3)}),
    "sends and receives in one call": (5, {(a, a ^ b) for a in range(4) for b in (1, 2)}),
    "pairs of a split communicator": (1, {(0, 2), (2, 0), (1, 3), (3, 1)}),
    "batches of torch": (2, {(0, 1), (1, 2), (2, 3), (3, 0)}),
    "persistent requests": (3, {(0, 1), (1, 0), (2, 3), (3, 2)}),
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", ASKED)
def test_the_rounds_of_a_run_are_those_of_its_longest_chain(world, name):
    world.run(call, cell(BEGIN + textwrap.dedent(ASKED[name])), COMM, ranks=[2, 0, 3, 1], init="torch")
    expected, pairs = FOUND[name]
    found = messages(world.events)
    assert rounds(world.events) == expected
    assert {(message.source, message.destination) for message in found} == pairs
    assert all(message.arrived is not None and message.bytes for message in found)


def test_messages_meet_in_their_order_by_tag():
    sends = [
        event("send", peer=1, tag=tag, bytes=size, start=at)
        for tag, size, at in ((5, 1, 0.1), (6, 2, 0.2), (5, 3, 0.3))
    ]
    receives = [event("recv", peer=0, tag=tag, start=0.0, end=at) for tag, at in ((6, 1.0), (5, 1.1), (5, 1.2))]
    found = messages([sends, receives])
    assert sorted((message.bytes, message.arrived) for message in found) == [(1, 1.1), (2, 1.0), (3, 1.2)]


def test_a_message_that_was_sent_early_and_received_late_makes_no_circle():
    first = [event("recv", peer=2, start=0.0, end=0.5), event("send", peer=1, start=0.6)]
    second = [event("recv", peer=0, start=0.0, end=1.0), event("recv", peer=2, start=1.1, end=1.2)]
    third = [event("send", peer=1, start=0.0), event("send", peer=0, start=0.1)]
    found = {(each.source, each.destination): each.round for each in messages([first, second, third])}
    assert found[2, 0] < found[0, 1]
    assert len(found) == 3


@pytest.mark.thorough
def test_ten_thousand_messages_take_no_time_to_speak_of():
    sends = [event("send", peer=1, start=float(number)) for number in range(10_000)]
    receives = [event("recv", peer=0, start=float(number), end=number + 0.5) for number in range(10_000)]
    began = time.process_time()
    assert rounds([sends, receives]) == 10_000
    assert time.process_time() - began < 10


def test_who_is_no_rank_of_the_run_gets_no_message():
    strange = [event("send", peer=peer) for peer in (None, 4, -1)] + [event("send", peer=1, failed=True)]
    assert messages([strange, []]) == []
    assert rounds([[], []]) == 0
