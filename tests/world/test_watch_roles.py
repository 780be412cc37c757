"""What a rank brings to a call follows from its part in it; messages meet on their own communicator."""

from __future__ import annotations

import pytest
from student_cells import call, cell

from course.watch.messages import messages
from course.world import COMM

ROOTED = cell(
    """
    import numpy as np
    from mpi4py import MPI

    def f(comm):
        one, all_ = np.full(1, float(comm.rank)), np.arange(3.0)
        comm.Bcast(one.copy(), 1)
        comm.bcast("word", 1)
        comm.Scatter(all_ if comm.rank == 1 else None, np.zeros(1), 1)
        comm.scatter([1, 2, 3], 1)
        comm.Reduce(one, np.zeros(1), root=1)
        comm.reduce(float(comm.rank), root=1)
        comm.Gather(MPI.IN_PLACE if comm.rank == 1 else one, all_.copy() if comm.rank == 1 else None, 1)
        comm.Allgather(MPI.IN_PLACE, all_.copy())
        comm.Allgatherv(MPI.IN_PLACE, [np.arange(6.0), [1, 2, 3], [0, 1, 3], MPI.DOUBLE])
        comm.Allreduce(MPI.IN_PLACE, one.copy())
    """
)


def test_each_rank_is_noted_with_what_it_brings(world):
    world.run(call, ROOTED, COMM, size=3)
    root, other = world.events[1], world.events[2]
    shown = [
        [tuple(each[name] for name in ("op", "bytes", "values", "results")) for each in log] for log in (root, other)
    ]
    assert shown[0] == [
        ("Bcast", 8, [1.0], None),
        ("bcast", 19, None, None),
        ("Scatter", 24, [0.0, 1.0, 2.0], None),
        ("scatter", 22, None, None),
        ("Reduce", 8, [1.0], [3.0]),
        ("reduce", 8, [1.0], [3.0]),
        ("Gather", 0, None, None),
        ("Allgather", 8, [1.0], None),
        ("Allgatherv", 16, None, None),
        ("Allreduce", 8, [1.0], [3.0]),
    ]
    assert shown[1] == [
        ("Bcast", 0, None, None),
        ("bcast", 0, None, None),
        ("Scatter", 0, None, None),
        ("scatter", 0, None, None),
        ("Reduce", 8, [2.0], None),
        ("reduce", 8, [2.0], None),
        ("Gather", 8, [2.0], None),
        ("Allgather", 8, [2.0], None),
        ("Allgatherv", 24, None, None),
        ("Allreduce", 8, [2.0], [3.0]),
    ]


REDUCED = cell(
    """
    import numpy as np
    import torch
    import torch.distributed as dist
    from mpi4py import MPI

    def f(comm):
        one, all_ = np.full(2, float(comm.rank)), np.zeros(2)
        comm.Reduce(MPI.IN_PLACE if comm.rank == 1 else one, one.copy() if comm.rank == 1 else all_, root=1)
        comm.Ireduce(one, all_ if comm.rank == 1 else None, root=1).Wait()
        prepared = comm.Reduce_init(one, all_ if comm.rank == 1 else None, root=1)
        prepared.Start()
        prepared.Wait()
        dist.reduce(torch.full((2,), float(comm.rank)), dst=1)
        dist.reduce(torch.full((2,), float(comm.rank)), dst=1, async_op=True).wait()
    """
)


def test_of_a_reduce_all_ranks_bring_their_part_and_the_root_alone_has_a_result(world):
    world.run(call, REDUCED, COMM, size=3, init="torch")
    for rank, log in enumerate(world.events):
        seen = [[event[name] for name in ("bytes", "values", "results")] for event in log if event["kind"] == "reduce"]
        result = [3.0, 3.0] if rank == 1 else None
        assert seen[:3] == [[16, [float(rank)] * 2, result]] * 3, "by mpi4py"
        assert seen[3:] == [[8, [float(rank)] * 2, result]] * 2, "by torch"
        assert {event["received"] for event in log} == {None}, "that is of messages"


TORCH_ROOTED = cell(
    """
    import torch
    import torch.distributed as dist

    def f():
        rank, one = dist.get_rank(), torch.ones(1)
        parts = [torch.ones(1) for _ in range(3)] if rank == 1 else None
        dist.broadcast(torch.ones(1), src=1)
        dist.scatter(one, parts, src=1)
        dist.gather(one, parts, dst=1)
    """
)


def test_by_torch_a_rank_that_is_not_the_root_sends_nothing_in_a_broadcast_and_a_scatter(world):
    world.run(call, TORCH_ROOTED, size=3, init="torch")
    assert [event["bytes"] for event in world.events[1]] == [4, 12, 4]
    assert [event["bytes"] for event in world.events[2]] == [0, 0, 4]


def test_an_object_in_a_message_has_as_many_bytes_when_it_leaves_as_when_it_comes(world):
    objects = cell(
        """
        import numpy as np

        def f(comm):
            for thing in (np.zeros(1000), 1.0, None, [1, "two"]):
                comm.sendrecv(thing, 1 - comm.rank, source=1 - comm.rank)
        """
    )
    world.run(call, objects, COMM, size=2)
    sizes = [(event["bytes"], event["received"]) for event in world.events[0]]
    assert [sent == came for sent, came in sizes] == [True] * 4
    assert sizes[0][0] > 8000


@pytest.mark.parametrize(
    "made",
    [
        "comm.Dup()",
        "comm.Split(0, comm.rank)",
        "MPI.Intracomm(comm).Clone()",
        "comm.Create_group(comm.group)",
        "MPI.Intracomm.Create_from_group(comm.group)",
    ],
)
def test_messages_on_two_communicators_of_the_same_ranks_are_not_mixed(world, made):
    two = cell(
        f"""
        import numpy as np
        from mpi4py import MPI

        def f(comm):
            other = {made}
            plain = MPI.Intracomm(other)
            if comm.rank == 0:
                comm.Send(bytearray(29), 1)
                plain.Send(bytearray(37), 1)
            if comm.rank == 1:
                other.Recv(bytearray(37), 0)
                comm.Recv(bytearray(29), 0)
        """
    )
    world.run(call, two, COMM, size=2)
    met = messages(world.events)
    came = [event for event in world.events[1] if event["kind"] == "recv"]
    assert [event["received"] for event in came] == [37, 29]
    assert [(each.bytes, each.arrived) for each in met] == [(29, came[1]["end"]), (37, came[0]["end"])]


def test_groups_of_torch_with_the_same_ranks_are_told_apart_on_all_of_them(world):
    groups = cell(
        """
        import torch
        import torch.distributed as dist

        def f(comm):
            first, second = dist.new_group([0, 1]), dist.new_group([0, 1])
            for group in (first, second) if comm.rank else (second, first):
                dist.all_reduce(torch.ones(1), group=group, async_op=True)
            dist.barrier()
        """
    )
    world.run(call, groups, COMM, size=2, init="torch")
    assert [[event["context"] for event in log] for log in world.events] == [[2, 1, 0], [1, 2, 0]]
