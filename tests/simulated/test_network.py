"""The simulated network: what messages cost, on real ranks."""

from __future__ import annotations

import pytest
from student_cells import call, cell
from timed_messages import LATE, SIZE, TIMED, UPWARDS, cost, takes

from course.world import COMM

ALL = cell(
    TIMED
    + f"""
    def f(comm, way):
        comm = simulated(comm)
        rank, size = comm.rank, comm.size
        whole, chunk, came = np.zeros({SIZE}, "u1"), np.zeros({SIZE // 4}, "u1"), np.zeros({SIZE // 4}, "u1")
        right, left = (rank + 1) % size, (rank - 1) % size

        def one_by_one():
            if rank:
                comm.Recv(whole, 0)
            for other in range(1, 0 if rank else size):
                comm.Send(whole, other)

        def tree():
            for step in (1, 2):
                if rank < step:
                    comm.Send(whole, rank + step)
                elif rank < 2 * step:
                    comm.Recv(whole, rank - step)

        def ring():
            for _ in range(size - 1):
                comm.Sendrecv(chunk, right, recvbuf=came, source=left)

        def ring_replaced():
            for _ in range(size - 1):
                comm.Sendrecv_replace(chunk, right, source=left)

        def ring_started():
            for _ in range(size - 1):
                request = comm.Isend(chunk, right)
                comm.Recv(came, left)
                request.Wait()

        def ring_awaited():
            for _ in range(size - 1):
                MPI.Request.Waitall([comm.Irecv(came, left), comm.Issend(chunk, right)])

        def all_at_once():
            others = range(1, 0 if rank else size)
            MPI.Request.Waitall([comm.Isend(whole, other) for other in others])
            if rank:
                comm.Recv(whole, 0)

        def to_one():
            if rank:
                comm.Send(whole, 0)
            for _ in range(1, 0 if rank else size):
                comm.Recv(whole)

        def to_one_awaited():
            MPI.Request.Waitall([comm.Irecv(whole.copy(), other) for other in range(1, 0 if rank else size)])
            if rank:
                comm.Ssend(whole, 0)

        return timed(comm, locals()[way])
    """
)


@pytest.mark.sample(3)
@UPWARDS
@pytest.mark.parametrize(
    ("way", "seconds"),
    [
        ("one_by_one", 3 * cost(SIZE)),
        ("tree", 2 * cost(SIZE)),
        ("ring", 3 * cost(SIZE // 4)),
        ("ring_replaced", 3 * cost(SIZE // 4)),
        ("ring_started", 3 * cost(SIZE // 4)),
        ("ring_awaited", 3 * cost(SIZE // 4)),
        ("all_at_once", 3 * cost(SIZE)),
        ("to_one", 3 * cost(SIZE)),
        ("to_one_awaited", 3 * cost(SIZE)),
    ],
)
def test_a_rank_has_one_message_going_out_and_one_coming_in_at_a_time(world, way, seconds, spare):
    assert takes(world.run(call, ALL, COMM, way), seconds, spare)


@UPWARDS
def test_a_message_travels_whether_or_not_its_destination_waits_for_it(world, spare):
    half = world.run(call, cell(LATE), COMM, 0.5 * cost(SIZE), size=2)
    assert takes(half, cost(SIZE), spare)
    assert takes(world.run(call, cell(LATE), COMM, 2 * cost(SIZE), size=2), 2 * cost(SIZE), spare)
    assert all(end - began >= cost(SIZE) - 2e-3 for began, end in half[0]), "the sender sleeps, too"


ONE = TIMED + (
    """
    def f(comm):
        {make}
        data = np.zeros({size}, "u1")

        def exchange():
            if comm.rank == {source}:
                comm.Send(data, {destination})
            if comm.rank == {destination}:
                comm.Recv(data, {source})

        return timed(comm, exchange)
    """
)


@pytest.mark.sample(2)
@UPWARDS
@pytest.mark.parametrize(
    ("make", "source", "destination", "factor"),
    [
        ("comm = simulated(comm, slow={(0, 1): 5})", 0, 1, 5),
        ("comm = simulated(comm, slow={(0, 1): 5})", 1, 0, 1),
        ("comm = simulated(comm, slow={(0, 1): 5}).Split(0, -comm.rank)", 2, 1, 5),
        ("comm = simulated(comm, slow={(0, 1): 5}).Split(0, -comm.rank).Dup()", 0, 1, 1),
        ("comm = safe(simulated(comm))", 0, 1, 1),
        ("comm = simulated(safe(comm))", 0, 1, 1),
    ],
    ids=["slow", "way-back", "split", "split-otherwise", "safe-above", "safe-below"],
)
def test_a_message_takes_alpha_and_beta_times_its_bytes_and_more_on_a_slow_link(
    world, make, source, destination, factor, spare
):
    subject = cell(ONE.format(make=make, size=SIZE, source=source, destination=destination))
    assert takes(world.run(call, subject, COMM, size=3), factor * cost(SIZE), spare)


@UPWARDS
def test_a_message_from_another_machine_travels_from_when_it_is_there(world, spare):
    elsewhere = """
        plain = MPI.Get_processor_name
        MPI.Get_processor_name = lambda: str(comm.rank)
        try:
            comm = simulated(comm)
        finally:
            MPI.Get_processor_name = plain
"""
    late = cell(LATE.replace("        comm = simulated(comm)\n", elsewhere))
    assert takes(world.run(call, late, COMM, cost(SIZE), size=2), 2 * cost(SIZE), spare)


@UPWARDS
@pytest.mark.parametrize("way", ["out", "in"])
def test_the_lines_of_a_rank_are_the_same_in_all_that_is_made_of_its_communicator(world, way, spare):
    apart = cell(
        TIMED
        + f"""
    def f(comm):
        comm = simulated(comm)
        rank, data = comm.rank, np.zeros({SIZE}, "u1")
        made = [None, comm.Split(0), comm.Dup(), comm]

        def exchange():
            if "{way}" == "out":
                MPI.Request.Waitall([made[other].Isend(data, other) for other in range(1, 0 if rank else comm.size)])
                if rank:
                    made[rank].Recv(data, 0)
            else:
                for other in range(1, 0 if rank else comm.size):
                    made[other].Recv(data, other)
                if rank:
                    made[rank].Send(data, 0)

        return timed(comm, exchange)
    """
    )
    assert takes(world.run(call, apart, COMM), 3 * cost(SIZE), spare)
