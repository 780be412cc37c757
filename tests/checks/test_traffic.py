"""Messages on real ranks: who sent what to whom, in how many rounds."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from made_events import event

from autograde.rubric.communication.traffic import Traffic, partners, traffic
from course.world import COMM


def binomial_broadcast(comm) -> None:
    """Runs on each rank: in each round all who have it send it on."""
    import numpy as np

    data, distance = np.arange(10.0), 1
    while distance < comm.size:
        if comm.rank < distance and comm.rank + distance < comm.size:
            comm.Send(data, dest=comm.rank + distance)
        elif distance <= comm.rank < 2 * distance:
            comm.Recv(data, source=comm.rank - distance)
        distance *= 2


def broadcast_by_one(comm) -> None:
    """Runs on each rank: rank 0 sends to all others, one after another."""
    import numpy as np

    data = np.arange(10.0)
    for other in range(1, comm.size) if comm.rank == 0 else ():
        comm.Send(data, other)
    if comm.rank:
        comm.Recv(data)


def binomial_reduce(comm) -> None:
    """Runs on each rank: half of those who are left send to the other half."""
    distance = 1
    while distance < comm.size:
        if comm.rank % (2 * distance) == distance:
            comm.send(1.5, dest=comm.rank - distance)
            return
        if comm.rank + distance < comm.size:
            comm.recv(source=comm.rank + distance)
        distance *= 2


def gathered_by_one(comm) -> None:
    """Runs on each rank: rank 0 receives from all others, whoever comes first."""
    from mpi4py import MPI

    for _ in range(1, comm.size) if comm.rank == 0 else ():
        comm.recv(source=MPI.ANY_SOURCE)
    if comm.rank:
        comm.send(2.5, 0)


def ring_allreduce(comm) -> None:
    """Runs on each rank: a chunk to the right and one from the left, 2 (N - 1) times."""
    import numpy as np

    chunk, arrived = np.zeros(4), np.zeros(4)
    for _ in range(2 * (comm.size - 1)):
        request = comm.Isend(chunk, dest=(comm.rank + 1) % comm.size)
        comm.Recv(arrived, source=(comm.rank - 1) % comm.size)
        request.Wait()
        chunk[:] = arrived


def ring_by_turns(comm) -> None:
    """Runs on each rank: once around, even ranks send first."""
    import numpy as np

    right, left, data = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size, np.zeros(1)
    if comm.rank % 2 == 0:
        comm.Ssend(np.ones(1), right)
        comm.Recv(data, left)
    else:
        comm.Recv(data, left)
        comm.Ssend(np.ones(1), right)


def shifted(comm) -> None:
    """Runs on each rank: to the left neighbour, by one call that sends and receives."""
    comm.sendrecv(0.5, (comm.rank - 1) % comm.size)


def nobody(comm) -> None:
    """Runs on each rank: a collective, and messages to nowhere."""
    from mpi4py import MPI

    comm.allreduce(1)
    comm.send(1, MPI.PROC_NULL)
    comm.recv(source=MPI.PROC_NULL)


@pytest.fixture
def seen(world) -> Callable[[Callable, int], Traffic]:
    """What is communicated when a function runs on so many ranks."""

    def run(function: Callable, size: int = 4) -> Traffic:
        world.run(function, COMM, size=size)
        return traffic(world.events)

    return run


@pytest.mark.parametrize(("size", "rounds"), [(2, 1), (3, 2), (4, 2)])
def test_a_binomial_tree_takes_as_many_rounds_as_its_depth(seen, size, rounds):
    assert seen(binomial_broadcast, size).rounds == rounds
    assert seen(binomial_reduce, size).rounds == rounds


def test_in_a_tree_all_but_the_root_receive_once(seen):
    tree = seen(binomial_broadcast)
    assert tree.sends == {(0, 1): 1, (0, 2): 1, (1, 3): 1}
    assert tree.bytes_sent() == [160, 80, 0, 0]
    assert tree.bytes_received() == [0, 80, 80, 80]
    assert tree.ring() is None
    assert seen(binomial_reduce).sends == {(1, 0): 1, (3, 2): 1, (2, 0): 1}


def test_one_rank_that_serves_all_others_takes_a_round_for_each(seen):
    assert seen(broadcast_by_one).rounds == 3
    assert seen(gathered_by_one).rounds == 3
    assert seen(gathered_by_one).sends == {(1, 0): 1, (2, 0): 1, (3, 0): 1}
    assert seen(gathered_by_one).bytes_received() == [63, 0, 0, 0]


@pytest.mark.parametrize("size", [2, 3, 4])
def test_an_allreduce_on_a_ring_takes_two_steps_for_each_other_rank(seen, size):
    around = seen(ring_allreduce, size)
    assert around.ring() == [*range(size)]
    assert around.steps() == [2 * (size - 1)] * size
    assert around.rounds == 2 * (size - 1)
    assert around.bytes_sent() == around.bytes_received() == [64 * (size - 1)] * size


def test_a_ring_goes_either_way_and_ranks_may_take_turns(seen):
    assert seen(shifted).ring() == [0, 3, 2, 1]
    assert seen(shifted).rounds == 1
    assert seen(ring_by_turns).ring() == [0, 1, 2, 3]
    assert seen(ring_by_turns).rounds == 2


def test_collectives_and_messages_to_no_rank_are_no_messages(seen):
    assert seen(nobody) == Traffic(4, ())


@pytest.mark.parametrize(
    ("about", "others"),
    [
        ({"kind": "send", "peer": 1}, {1}),
        ({"kind": "recv", "peer": None}, set()),
        ({"kind": "sendrecv", "peer": 2, "source": 1}, {1, 2}),
        ({"kind": "sendrecv", "peer": -2, "source": 1}, {1}),
        ({"kind": "broadcast", "peer": 3, "members": [0, 3, None]}, {0, 3}),
        ({"kind": "barrier", "members": None}, set()),
    ],
)
def test_a_call_has_partners_at_the_other_ends_or_in_its_communicator(about, others):
    assert partners(event(**about)) == others


def test_a_message_that_nobody_takes_has_not_arrived():
    unanswered = [event("recv", peer=1, end=None), event("send", peer=1, start=0.2)]
    (message,) = traffic([unanswered, []]).messages
    assert (message.source, message.destination, message.arrived, message.round) == (0, 1, None, 1)
    assert traffic([unanswered, []]).bytes_received() == [0, 0]
