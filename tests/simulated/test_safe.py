"""A communicator where each send waits for its receive, on real ranks."""

from __future__ import annotations

import pytest
from student_cells import call, cell

from course.world import COMM

BOTH_SEND_FIRST = cell(
    """
    import numpy as np
    from course.simulated.safe import safe

    def f(comm, strict):
        comm = safe(comm) if strict else comm
        other = 1 - comm.rank
        numbers = np.full(10, float(comm.rank))
        comm.Send(numbers, other)
        comm.Recv(numbers, other)
        return numbers[0]
    """
)


def test_both_ranks_may_send_first_on_a_plain_communicator_and_not_on_a_safe_one(world):
    assert world.run(call, BOTH_SEND_FIRST, COMM, False, size=2) == [1.0, 0.0]
    outcome = world.attempt(call, BOTH_SEND_FIRST, COMM, True, size=2)
    assert (outcome.state, outcome.detail) == ("hang", "ranks 0 and 1 wait in comm.Send, cell line 8.")
    assert [event["op"] for event in outcome.events[0]] == ["Send"]


# On a safe communicator, rank 1 receives when rank 0 has had LATE seconds to send in; on a plain one, when it is told
# that rank 0's send is over. Returns when rank 0's send ended, and when rank 1 was about to receive.
LATE = 0.3
SENDS = {
    "Send": "comm.Send(numbers, 1)",
    "Isend": "comm.Isend(numbers, 1).Wait()",
    "send": "comm.send(numbers, 1)",
    "isend": "comm.isend(numbers, 1).wait()",
}
ONE_SEND = """
    import time
    import numpy as np
    from course.simulated.safe import safe

    def f(comm, strict, late):
        plain, comm = comm, safe(comm).Dup() if strict else comm
        numbers = np.arange(10.0)
        comm.Barrier()
        if comm.rank == 0:
            {send}
            moment = time.monotonic()
            if not strict:
                plain.send("sent", 1, tag=1)
        else:
            if strict:
                time.sleep(late)
            else:
                plain.recv(source=0, tag=1)
            moment = time.monotonic()
            numbers[:] = 0
            {receive}
            assert list(numbers) == list(range(10))
        return moment
    """


@pytest.mark.parametrize("operation", SENDS)
def test_each_send_waits_for_its_receive_on_a_safe_communicator_only(world, operation):
    receive = "numbers = comm.recv(source=0, tag=0)" if operation.islower() else "comm.Recv(numbers, 0)"
    subject = cell(ONE_SEND.format(send=SENDS[operation], receive=receive))
    world.run(call, subject, COMM, False, LATE, size=2)
    sent, received = world.run(call, subject, COMM, True, LATE, size=2)
    assert sent >= received
    assert operation in [event["op"] for event in world.events[0]]


def test_a_prepared_send_is_a_synchronous_one(world):
    # Here, MPI never keeps the message of a prepared send, so nobody sees the difference.
    prepared = cell(
        """
        from course.simulated.safe import safe

        def f(comm):
            return comm.Send_init.__name__, safe(comm).Send_init.__name__
        """
    )
    assert world.run(call, prepared, COMM, size=1, watch=False) == [("Send_init", "Ssend_init")]


def test_a_safe_program_is_as_before(world):
    orderly = cell(
        """
        import numpy as np
        from course.simulated.safe import safe

        def f(comm):
            comm, numbers = safe(comm), np.full(20_000, float(comm.rank))
            right, left, came = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size, np.zeros(20_000)
            comm.Sendrecv(numbers, right, recvbuf=came, source=left)
            request = comm.Isend(came, left)
            comm.Recv(numbers, right)
            request.Wait()
            return numbers[-1], comm.allreduce(1)
        """
    )
    assert world.run(call, orderly, COMM) == [(float(rank), 4) for rank in range(4)]
