"""The simulated network: calls do what they do on any communicator, and what is not simulated is refused."""

from __future__ import annotations

import pytest
from student_cells import call, cell
from timed_messages import LATE, SIZE, TIMED, UPWARDS, cost, takes

from course.world import COMM


@pytest.mark.thorough
def test_waiting_takes_next_to_nothing_of_a_core(world):
    asleep = cell(
        TIMED
        + f"""
    def f(comm):
        comm, used = simulated(comm), time.process_time()
        began = time.monotonic()
        data = np.zeros({SIZE}, "u1")
        if comm.rank == 0:
            time.sleep(1)
            comm.Send(data, 1)
            MPI.Request.Waitall([comm.Isend(data, 1), comm.Isend(data, 1)])
        else:
            comm.Recv(data, 0)
            comm.Recv(data, 0)
            comm.Irecv(data, 0).Wait()
        return (time.process_time() - used) / (time.monotonic() - began)
    """
    )
    assert max(world.run(call, asleep, COMM, size=2)) < 0.25


def test_messages_arrive_with_source_tag_and_length(world):
    exact = cell(
        TIMED
        + """
    def f(comm):
        comm, status, told = simulated(comm), MPI.Status(), []
        tell = lambda: told.append((status.source, status.tag, status.Get_count(MPI.DOUBLE)))
        if comm.rank == 0:
            comm.Send(np.arange(3.0), 2, 5)
            comm.Ssend(np.arange(20_000.0), 2, 6)
            comm.Isend(np.arange(1.0), 2, tag=7).Wait()
        if comm.rank == 1:
            comm.Sendrecv([np.arange(9.0), 4, MPI.DOUBLE], dest=2, sendtag=8, source=MPI.PROC_NULL)
        if comm.rank == 2:
            came = np.zeros(20_000)
            comm.Recv(came, tag=5, status=status)
            told.append(list(came[:3]))
            tell()
            request = comm.Irecv(came, 0)
            request.Wait(status)
            told.append(came.sum())
            tell()
            comm.Probe(source=1, status=status)
            tell()
            statuses = [MPI.Status(), MPI.Status()]
            MPI.Request.Waitall([comm.Irecv(came, tag=7), comm.Irecv(came, source=1)], statuses)
            for status in statuses:
                tell()
        return told
    """
    )
    first, second = [[0.0, 1.0, 2.0], (0, 5, 3)], [19_999 * 10_000.0, (0, 6, 20_000)]
    assert world.run(call, exact, COMM)[2] == [*first, *second, (1, 8, 4), (0, 7, 1), (1, 8, 4)]
    assert [(event["op"], event["received"]) for event in world.events[2]][-2:] == [("Irecv", 8), ("Irecv", 32)]


def test_nothing_is_paid_for_messages_to_oneself_to_nobody_and_in_small_letters(world):
    free = cell(
        TIMED
        + f"""
    def f(comm):
        comm, data = simulated_network(comm, 3600.0, 1.0), np.zeros({SIZE}, "u1")
        comm.Sendrecv(data, comm.rank, recvbuf=data.copy(), source=comm.rank)
        comm.Send(data, MPI.PROC_NULL)
        comm.Irecv(data, MPI.PROC_NULL).Wait()
        comm.allreduce(comm.sendrecv(data, 1 - comm.rank)[0])
    """
    )
    world.run(call, free, COMM, size=2)


SAFE_LATE = ("comm = safe(simulated(comm))", "comm = simulated(safe(comm))")


@pytest.mark.parametrize("make", SAFE_LATE, ids=["safe-above", "safe-below"])
def test_a_safe_simulated_send_waits_for_its_receive(world, make):
    safe_late = cell(LATE.replace("comm = simulated(comm)", make).replace(str(SIZE), "8"))
    late = 4 * cost(8)
    sender, receiver = world.run(call, safe_late, COMM, late, size=2)
    assert all(sent >= began + late for (_, sent), (began, _) in zip(sender, receiver, strict=True))


def test_a_simulated_send_that_is_not_safe_does_not_wait_for_its_receive(world):
    sent_first = cell(
        TIMED
        + """
    def f(comm):
        comm = simulated(comm)
        if comm.rank == 0:
            comm.Send(np.zeros(8, "u1"), 1)
            comm.send("sent", 1, tag=1)
        else:
            assert comm.recv(source=0, tag=1) == "sent"
            comm.Recv(np.zeros(8, "u1"), 0)
    """
    )
    world.run(call, sent_first, COMM, size=2)


def test_the_watch_sees_the_calls_as_they_are_made_and_as_long_as_they_take(world):
    seen = cell(
        TIMED
        + f"""
    def f(comm):
        comm, data = simulated(comm), np.zeros({SIZE}, "u1")
        comm.Barrier()
        if comm.rank == 0:
            comm.Send(data, 1)
            request = comm.Isend(data, 1)
            time.sleep({cost(SIZE) / 2})
            request.Wait()
        else:
            comm.Recv(data, 0)
            comm.Irecv(data, 0).Wait()
    """
    )
    world.run(call, seen, COMM, size=2)
    for events, operations in zip(world.events, (["Send", "Isend"], ["Recv", "Irecv"]), strict=True):
        assert [event["op"] for event in events] == ["Barrier", *operations]
        for event, sent in zip(events[1:], world.events[0][1:], strict=True):
            assert event["end"] - sent["start"] >= cost(SIZE) - 2e-3
    _, send, started = world.events[0]
    assert (send["bytes"], send["peer"]) == (SIZE, 1)
    assert started["line"] == send["line"] + 1
    assert started["waited"] - started["start"] >= cost(SIZE) / 2


def test_a_hang_is_reported_as_on_any_communicator(world):
    hang = cell(
        """
        import numpy as np
        from course.simulated.network import simulated_network

        def f(comm):
            comm = simulated_network(comm, 1e-3, 0.0)
            if comm.rank == 0:
                comm.Recv(np.zeros(1), 1)
            else:
                comm.Irecv(np.zeros(1), 0).Wait()
        """
    )
    outcome = world.attempt(call, hang, COMM, size=2)
    assert outcome.state == "hang"
    assert [(rank.call, rank.line) for rank in outcome.ranks] == [("comm.Recv", 7), ("comm.Request.Wait", 9)]


@pytest.mark.parametrize(
    ("act", "error", "message"),
    [
        ("simulated_network(comm, -1e-3, 0.0)", "ValueError", "alpha"),
        ("simulated_network(comm, 0.0, -1.0)", "ValueError", "beta"),
        ("simulated_network(comm, 0.0, 0.0, slow={(0, 1): 0})", "ValueError", "times"),
        ("simulated_network(comm, 0.0, 0.0, slow={(0, 2): 2})", "ValueError", "no link (0, 2) among 2 ranks"),
        ("simulated(comm).Bsend(np.zeros(1), 0)", "NotImplementedError", "Bsend is not simulated: use Send"),
        ("simulated(comm).Recv_init(np.zeros(1), 0)", "NotImplementedError", "Recv_init"),
        ("simulated(comm).Send('text', 0)", "TypeError", "buffer"),
        ("simulated(comm).Send(np.zeros(1), 2)", "Exception", "rank"),
    ],
)
def test_what_is_no_network_or_not_simulated_is_refused(world, act, error, message):
    outcome = world.attempt(call, cell(TIMED + f"\n    def f(comm):\n        {act}\n"), COMM, size=2)
    assert {rank.error["type"] for rank in outcome.ranks} == {error}
    assert message in outcome.ranks[0].error["message"]


@UPWARDS
def test_what_mpi_refuses_leaves_no_trace_for_the_next_message(world, spare):
    again = cell(
        TIMED
        + """
    def f(comm):
        comm = simulated(comm)

        def exchange():
            if comm.rank == 0:
                try:
                    comm.Send("no buffer", 1)
                except TypeError:
                    time.sleep(0.1)
                comm.Send(np.zeros(1), 1)
            else:
                comm.Recv(np.zeros(1), 0)

        return timed(comm, exchange)
    """
    )
    assert takes(world.run(call, again, COMM, size=2), 0.1 + cost(8), spare)
