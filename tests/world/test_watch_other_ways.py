"""What mpi4py and torch communicate by other ways than their usual ones is seen, too."""

from __future__ import annotations

import pytest
from student_cells import call, cell

from course.world import COMM, RANK

MPI_CALLS = cell(
    """
    import copy
    import pickle
    from mpi4py import MPI
    from mpi4py.util import pkl5

    class Mine(MPI.Intracomm):
        def twice(self, number):
            return 2 * self.allreduce(number)

    def f(comm):
        other = 1 - comm.rank
        MPI.Comm.allreduce(comm, 1.0)
        MPI.Intracomm(comm).allreduce(2.0)
        MPI.COMM_SELF.allreduce(3.0)
        MPI.Intracomm.Create_from_group(comm.group).allreduce(4.0)
        duplicate, request = comm.Idup()
        request.Wait()
        duplicate.allreduce(5.0)
        MPI.Comm.fromhandle(comm.handle).allreduce(6.0)
        MPI.Comm.f2py(comm.py2f()).allreduce(7.0)
        MPI.Comm.Split(comm, 0).Dup().allreduce(8.0)
        pickle.loads(pickle.dumps(MPI.COMM_SELF)).allreduce(9.0)
        pkl5.Intracomm(comm).allreduce(10.0)
        pkl5.Intracomm(comm).sendrecv("text", other, source=other)
        mine = Mine(comm)
        mine.twice(11.0)
        assert isinstance(mine, Mine) and isinstance(mine, MPI.Comm) and not isinstance(comm, Mine)
        assert Mine != MPI.Intracomm and type(comm) is not Mine and type(mine.Dup()) is Mine
        assert copy.copy(MPI.COMM_SELF) == MPI.COMM_SELF
    """
)


def test_a_communicator_is_watched_however_it_is_come_by(world):
    world.run(call, MPI_CALLS, COMM, size=2)
    for rank, log in enumerate(world.events):
        reductions = [event for event in log if event["kind"] == "allreduce"]
        assert [event["values"][0] for event in reductions] == [float(number) for number in range(1, 12)]
        alone = [event["values"][0] for event in reductions if event["members"] == [rank]]
        assert alone == [3.0, 9.0], "on COMM_SELF"
        assert all(event["members"] == [0, 1] for event in reductions if event["values"][0] not in alone)
        made = [event["op"] for event in log if event["kind"] == "communicator"]
        assert made == ["Create_from_group", "Idup", "Split", "Dup", "Dup"]
        messages = [(event["op"], event["peer"], event["line"]) for event in log if event["kind"] in ("send", "recv")]
        assert {(peer, line) for _, peer, line in messages} == {(1 - rank, 24)}, "pkl5 sends by MPI.Comm.Isend"
        assert all(event["state"] == "done" for event in log)


def test_a_class_that_is_imported_while_it_is_watched_is_as_before_afterwards(world):
    look = cell(
        """
        from mpi4py import MPI
        from mpi4py.util import pkl5

        def f():
            return ["watch" in kind.__module__ for kind in (*pkl5.Intracomm.__mro__, MPI.Intracomm, MPI.Comm)]
        """
    )
    world.run(call, MPI_CALLS, COMM, size=2)
    assert not any(world.run(call, look, size=1, watch=False)[0])


@pytest.mark.parametrize("default", ["", ".default"])
def test_the_operators_of_torch_are_seen(world, default):
    operators = cell(
        f"""
        import torch
        import torch.distributed as dist
        import torch.distributed._functional_collectives as functional

        def f():
            operators, name, numbers = torch.ops._c10d_functional, dist.group.WORLD.group_name, torch.ones(2)
            total = operators.all_reduce{default}(numbers, "sum", name)
            assert operators.wait_tensor{default}(total).tolist() == [2.0, 2.0]
            operators.broadcast{default}(numbers, 1, name)
            functional.all_reduce(numbers, "sum", dist.group.WORLD) + 1
        """
    )
    world.run(call, operators, size=2, init="torch")
    seen = [tuple(event[name] for name in ("op", "kind", "peer", "state", "line")) for event in world.events[0]]
    assert seen == [
        ("all_reduce", "allreduce", None, "done", 7),
        ("broadcast", "broadcast", 1, "under way", 9),
        ("all_reduce", "allreduce", None, "done", 10),
    ]
    assert [world.events[0][0][name] for name in ("values", "results", "members")] == [[1.0] * 2, [2.0] * 2, [0, 1]]


def test_a_distributed_tensor_waits_for_what_it_gathers(world, capsys):
    gathering = cell(
        """
        import torch
        from torch.distributed.tensor import Partial, Shard, DTensor, distribute_tensor, init_device_mesh

        def f():
            mesh = init_device_mesh("cpu", (2,))
            for dim, whole in (0, torch.arange(4.0)), (0, torch.arange(5.0)), (1, torch.arange(6.0).reshape(2, 3)):
                shards = distribute_tensor(whole, mesh, [Shard(dim)], src_data_rank=None)
                assert torch.equal(shards.full_tensor(), whole)
            total = DTensor.from_local(torch.ones(5), mesh, [Partial()]).redistribute(placements=[Shard(0)])
            assert torch.all(total.to_local() == 2)
        """
    )
    world.run(call, gathering, size=2, init="torch")
    for log in world.events:
        assert [event["kind"] for event in log] == ["allgather"] * 3 + ["reduce_scatter"]
        assert {event["state"] for event in log} == {"done"}
    assert "never wait" not in capsys.readouterr().out


UNSEEN = {
    "a store": """
        store = dist.distributed_c10d._get_default_store()
        store.set(f"from {rank}", "text")
        assert store.get(f"from {1 - rank}") == b"text"
    """,
    "an operator of c10d": """
        both, one = [torch.zeros(1), torch.zeros(1)], torch.full((1,), float(rank))
        _, work = torch.ops.c10d.allgather_([both], [one], dist.group.WORLD.boxed(), True, -1)
        dist.Work.unbox(work).wait()
        assert both == [0.0, 1.0]
    """,
    "DistributedDataParallel": """
        layer = torch.nn.Linear(1, 1, bias=False)
        model = DistributedDataParallel(layer)
        model(torch.full((1,), float(rank))).backward()
        assert layer.weight.grad == 0.5
    """,
}
SEEN = "dist.all_reduce(torch.ones(1)); dist.barrier(); torch.ops.aten.add(torch.ones(1), 1)"
HEAD = """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

def f():
    rank = dist.get_rank()
"""


@pytest.mark.parametrize("way", UNSEEN)
def test_who_communicates_by_what_is_not_recorded_is_noted_to_do_so(world, way):
    lines = "".join(f"    {line.strip()}\n" for line in UNSEEN[way].splitlines())
    world.run(call, cell(HEAD + lines), size=2, init="torch")
    assert [rank.unseen for rank in world.outcome.ranks] == [True, True]
    assert "after what is not recorded" in world.outcome.report
    assert world.events == [[], []]


def test_what_is_recorded_and_what_a_check_does_are_not(world):
    def own(rank: int) -> None:
        import torch
        import torch.distributed as dist

        dist.distributed_c10d._get_default_store().set(f"from {rank}", "text")
        torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1))(torch.ones(1)).backward()

    world.run(call, cell(f"{HEAD}    {SEEN}"), size=2, init="torch")
    assert [rank.unseen for rank in world.outcome.ranks] == [False, False]
    world.run(own, RANK, size=2, init="torch")
    assert [rank.unseen for rank in world.outcome.ranks] == [False, False]


def test_the_operation_of_a_reduction_is_told_where_options_have_it(world):
    reductions = cell(
        """
        import torch
        import torch.distributed as dist

        def f():
            options, group = dist.AllreduceOptions(), dist.group.WORLD
            options.reduceOp = dist.ReduceOp.MAX
            group.allreduce([torch.ones(1)], options).wait()
            group.allreduce([torch.ones(1)], opts=options).wait()
            group.allreduce([torch.ones(1)], dist.ReduceOp.MIN).wait()
            dist.all_reduce(torch.ones(1), op=dist.ReduceOp.PRODUCT)
            dist.all_reduce(torch.ones(1))
        """
    )
    world.run(call, reductions, size=2, init="torch")
    said = [(event["reduction"], event["bytes"], event["members"]) for event in world.events[0]]
    assert said == [(name, 4, [0, 1]) for name in ("MAX", "MAX", "MIN", "PRODUCT", "SUM")]
