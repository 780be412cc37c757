"""The watch sees every way to communicate: other communicators, requests of all kinds, windows, torch beside its usual
functions, Horovod's groups."""

from __future__ import annotations

import textwrap

import pytest
from student_cells import call, cell

from course.world import COMM

IMPORTS = "import numpy as np\nimport torch\nimport torch.distributed as dist\nfrom mpi4py import MPI\n\n"


def events_of(world, body: str, init: str | None = None, ranks: tuple[int, ...] = (0, 1)) -> list[list[dict]]:
    """What the ranks communicate in ``f(comm)`` with this body, which has `right` and `left`."""
    begin = "right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size\n"
    text = f"{IMPORTS}def f(comm):\n" + textwrap.indent(begin + textwrap.dedent(body), "    ")
    world.run(call, cell(text), COMM, ranks=list(ranks), init=init)
    return world.events


def columns(events: list[dict], *names: str) -> list[tuple]:
    """Some columns of the events."""
    return [tuple(event[name] for name in names) for event in events]


def test_communicators_that_are_made_are_watched_and_their_members_are_ranks_of_the_run(world):
    events = events_of(
        world,
        """
        half = comm.Split(comm.rank % 2, -comm.rank)
        half.allreduce(1)
        half.Dup().bcast(1, root=half.size - 1)
        comm.Split_type(MPI.COMM_TYPE_SHARED).barrier()
        group = comm.group.Incl([2, 0])
        some = comm.Create(group)
        if comm.rank in (0, 2):
            some.barrier()
            comm.Create_group(group).barrier()
        comm.Create_cart([comm.size]).neighbor_allgather(1)
        MPI.COMM_WORLD.Clone() if comm.size == MPI.COMM_WORLD.size else None
        if comm.rank == 0:
            half.send("", 0)
        if comm.rank == 2:
            half.recv(source=1)
        """,
        ranks=(3, 1, 2),
    )
    seen = columns(events[0], "kind", "members", "peer")
    assert seen[0] == ("communicator", [0, 1, 2], None)
    assert ("allreduce", [2, 0], None) in seen
    assert ("broadcast", [2, 0], 0) in seen, "its last rank is rank 0 of the run"
    assert seen.count(("barrier", [2, 0], None)) == 2
    assert ("allgather", [0, 1, 2], None) in seen
    assert ("send", [2, 0], 2) in seen
    assert columns(events[2], "kind", "members", "peer")[-1] == ("recv", [2, 0], 0)
    assert [event["op"] for event in events[1]].count("Split") == 1


def test_ranks_of_the_world_that_are_not_of_the_run_are_nobody(world):
    events = events_of(world, "MPI.COMM_WORLD.isend(1, MPI.PROC_NULL).wait()", ranks=(2, 0))
    ((members, peer),) = columns(events[0], "members", "peer")
    assert members[:3] == [1, None, 0]
    assert peer is None


def test_messages_of_all_kinds_have_source_tag_and_bytes(world):
    (first, _) = events_of(
        world,
        """
        numbers, more = np.ones(3), np.zeros(5)
        comm.Sendrecv(numbers, right, 4, more, left, 4)
        comm.Sendrecv_replace(numbers, right, 5, MPI.ANY_SOURCE, MPI.ANY_TAG)
        comm.sendrecv("text", right, source=left)
        comm.Isendrecv(numbers, right, 0, more, left).Wait()
        comm.Isendrecv_replace(numbers, right, 0, left).wait()
        request = comm.irecv(source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG)
        comm.bsend if comm.rank else None
        comm.issend("word", right, tag=9).wait()
        request.wait()
        requests = [comm.Irecv(more, tag=MPI.ANY_TAG), comm.Issend([numbers, 2, MPI.DOUBLE], right, 7)]
        while not MPI.Request.Testall(requests):
            pass
        """,
    )
    asked = columns(first, "asked_source", "asked_tag", "received_tag")[:6]
    assert asked == [(1, 4, 4), (-1, -1, 5), (1, -1, 0), (1, -1, 0), (1, -1, 0), (-1, -1, 9)]
    shown = columns(first, "op", "peer", "source", "tag", "bytes", "received", "state")
    assert shown == [
        ("Sendrecv", 1, 1, 4, 24, 24, "done"),
        ("Sendrecv_replace", 1, 1, 5, 24, 24, "done"),
        ("sendrecv", 1, 1, 0, 19, 19, "done"),
        ("Isendrecv", 1, 1, 0, 24, 24, "done"),
        ("Isendrecv_replace", 1, 1, 0, 24, 24, "done"),
        ("irecv", 1, None, 9, 0, 19, "done"),
        ("issend", 1, None, 9, 19, None, "done"),
        ("Irecv", 1, None, 7, 0, 16, "done"),
        ("Issend", 1, None, 7, 16, None, "done"),
    ]


def test_a_wait_has_a_beginning_and_an_end(world):
    (first, _) = events_of(
        world,
        """
        import time
        waited, forgotten = comm.Ibarrier(), comm.Ibarrier()
        time.sleep(0.05)
        waited.Wait()
        comm.Barrier()
        """,
    )
    waited, forgotten, blocking = first
    assert waited["waited"] - waited["start"] >= 0.05
    assert waited["end"] >= waited["waited"]
    assert (forgotten["waited"], forgotten["end"], forgotten["state"]) == (None, None, "under way")
    assert blocking["waited"] == blocking["start"]


@pytest.mark.parametrize(
    "wait",
    [
        "MPI.Request.Waitall(requests)",
        "MPI.Request.waitall(requests)",
        "[MPI.Request.Waitany(requests) for _ in requests]",
        "[MPI.Request.waitany(requests) for _ in requests]",
        "done = 0\nwhile done < 2:\n    done += len(MPI.Request.Waitsome(requests) or [])",
        "done = 0\nwhile done < 2:\n    done += len(MPI.Request.testsome(requests)[0] or [])",
        "while not MPI.Request.testall(requests)[0]:\n    pass",
        "found = 0\nwhile found < 2:\n    found += MPI.Request.Testany(requests)[0] >= 0",
        "while not requests[0].Test():\n    pass\nwhile not requests[1].test()[0]:\n    pass",
        "from mpi4py.MPI import Request\nRequest.Waitall(requests)",
    ],
)
def test_requests_end_by_whatever_waits_for_them(world, wait):
    body = "requests = [comm.irecv(source=left), comm.isend('text', right)]\n" + wait
    for of_rank in events_of(world, body):
        assert columns(of_rank, "op", "state", "received") == [("irecv", "done", 19), ("isend", "done", None)]


def test_each_start_of_a_persistent_request_is_a_call(world):
    (first, second) = events_of(
        world,
        """
        total, number = np.zeros(1), np.ones(1)
        reduction = comm.Allreduce_init(number, total)
        for _ in range(2):
            reduction.Start()
            reduction.Wait()
            number += total
        requests = [comm.Send_init(number, right, 3), comm.Recv_init(total, left, 3)]
        MPI.Prequest.Startall(requests)
        MPI.Request.Waitall(requests)
        reduction.Start()
        """,
    )
    assert columns(first, "kind", "values", "results", "state", "line")[:2] == [
        ("allreduce", [1.0], [2.0], "done", 12),
        ("allreduce", [3.0], [6.0], "done", 12),
    ]
    assert columns(second, "kind", "peer", "tag", "received", "state")[2:4] == [
        ("send", 0, 3, None, "done"),
        ("recv", 0, 3, 8, "done"),
    ]
    assert columns(first, "state")[4:] == [("under way",)]


def test_what_a_probe_finds_and_who_takes_it(world):
    events = events_of(
        world,
        """
        if comm.rank == 0:
            for tag in range(4):
                comm.send("text", 1, tag)
        else:
            comm.probe(tag=0)
            comm.recv()
            comm.mprobe(tag=1).recv()
            comm.Mprobe(tag=2).Irecv(bytearray(19)).Wait()
            for _ in range(5):
                assert not comm.Iprobe(0, 9)
            while not (message := comm.improbe()):
                pass
            message.irecv().wait()
            comm.iprobe(MPI.PROC_NULL)
        """,
    )
    events = [events[0], [event for event in events[1] if event["op"] != "improbe" or event["times"] is None]]
    assert columns(events[1], "op", "peer", "tag", "asked_source", "asked_tag", "received", "times") == [
        ("probe", 0, 0, -1, 0, None, None),
        ("recv", 0, 0, -1, -1, 19, None),
        ("mprobe", 0, 1, -1, 1, None, None),
        ("recv", 0, 1, None, None, 19, None),
        ("Mprobe", 0, 2, -1, 2, None, None),
        ("Irecv", 0, 2, None, None, 19, None),
        ("Iprobe", 0, 9, 0, 9, None, 5),
        ("improbe", 0, 3, -1, -1, None, None),
        ("irecv", 0, 3, None, None, 19, None),
        ("iprobe", None, None, None, None, None, None),
    ]


def test_one_sided_communication_is_seen(world):
    (first, _) = events_of(
        world,
        """
        window = MPI.Win.Allocate(32, comm=comm)
        window.Fence()
        window.Put(np.ones(2), right)
        window.Fence()
        window.Lock(right)
        window.Accumulate(np.ones(1), right, op=MPI.MAX)
        window.Rget(np.zeros(1), right).Wait()
        window.Unlock(right)
        window.Fence()
        window.Free()
        """,
    )
    assert columns(first, "op", "kind", "peer", "bytes", "reduction") == [
        ("Win.Allocate", "window", None, 0, None),
        ("Win.Fence", "window", None, 0, None),
        ("Win.Put", "put", 1, 16, None),
        ("Win.Fence", "window", None, 0, None),
        ("Win.Lock", "window", 1, 0, None),
        ("Win.Accumulate", "accumulate", 1, 8, "MAX"),
        ("Win.Rget", "get", 1, 0, None),
        ("Win.Unlock", "window", 1, 0, None),
        ("Win.Fence", "window", None, 0, None),
    ]


def test_torch_is_seen_beside_its_usual_functions(world):
    (first, second, third) = events_of(
        world,
        """
        import torch.distributed._functional_collectives as functional
        x = torch.ones(2)
        for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, x, right), dist.P2POp(dist.irecv, x.clone(), left)]):
            work.wait()
        dist.group.WORLD.allreduce([x]).wait()
        y = functional.all_reduce(x, "sum", dist.group.WORLD)
        (y + 1).sum()
        functional.all_reduce(x, "max", dist.group.WORLD)
        dist.all_reduce(x, async_op=True).get_future().wait()
        dist.all_reduce(x, async_op=True).get_future().then(lambda done: done.value()).wait()
        dist.all_reduce_coalesced([x, x[:1].clone()])
        pair = dist.new_group([2, 0])
        if comm.rank != 1:
            dist.broadcast(x, group_src=1, group=pair)
            dist.reduce_scatter_tensor(torch.zeros(1), x, group=pair)
        work = dist.all_reduce(x, async_op=True)
        while not work.is_completed():
            pass
        dist.scatter(torch.zeros(1), [torch.ones(1)] * 3 if comm.rank == 2 else None, src=2)
        dist.recv(torch.zeros(4)) if comm.rank == 0 else dist.send(torch.ones(4), 0) if comm.rank == 1 else None
        """,
        init="torch",
        ranks=(1, 3, 0),
    )
    shown = columns(first, "op", "kind", "peer", "members", "bytes", "state")
    everybody, pair = [0, 1, 2], [0, 2]
    assert shown == [
        ("isend", "send", 1, everybody, 8, "done"),
        ("irecv", "recv", 2, everybody, 0, "done"),
        ("allreduce", "allreduce", None, everybody, 8, "done"),
        ("all_reduce", "allreduce", None, everybody, 8, "done"),
        ("all_reduce", "allreduce", None, everybody, 8, "under way"),
        ("all_reduce", "allreduce", None, everybody, 8, "done"),
        ("all_reduce", "allreduce", None, everybody, 8, "done"),
        ("all_reduce_coalesced", "allreduce", None, everybody, 12, "done"),
        ("broadcast", "broadcast", 2, pair, 0, "done"),
        ("reduce_scatter_tensor", "reduce_scatter", None, pair, 8, "done"),
        ("all_reduce", "allreduce", None, everybody, 8, "done"),
        ("scatter", "scatter", 2, everybody, 0, "done"),
        ("recv", "recv", 1, everybody, 0, "done"),
    ]
    assert first[-1]["received"] == 16
    assert columns(third, "op", "bytes")[-1] == ("scatter", 12)
    assert columns(second, "values", "results")[2:4] == [([1.0, 1.0], [3.0, 3.0]), ([3.0, 3.0], [9.0, 9.0])]
    assert first[4]["reduction"] == "MAX"


def test_a_handle_of_torch_is_the_original(world):
    body = """
        work = dist.all_reduce(torch.ones(1), async_op=True)
        assert isinstance(work, dist.Work), type(work)
        work.wait()
        assert work.is_completed() and work.get_future().done()
    """
    assert [event["state"] for event in events_of(world, body, init="torch")[0]] == ["done"]


def test_backward_passes_communicate_in_the_line_that_begins_them(world):
    (first, _) = events_of(
        world,
        """
        weight = torch.ones(2, requires_grad=True)
        weight.register_post_accumulate_grad_hook(lambda p: dist.all_reduce(p.grad))
        (3 * weight).sum().backward()
        """,
        init="torch",
    )
    assert columns(first, "kind", "line", "results") == [("allreduce", 10, [6.0, 6.0])]


def test_horovods_other_functions_are_seen(world):
    (first, _) = events_of(
        world,
        """
        import horovod.torch as hvd
        x = torch.ones(2)
        hvd.grouped_allreduce([x, x], op=hvd.Sum, name="a")
        hvd.synchronize(hvd.grouped_allreduce_async([x], op=hvd.Sum, name="b"))
        hvd.reducescatter(x, op=hvd.Sum, name="c")
        hvd.alltoall(x, name="d")
        hvd.broadcast_object({"a": 1}, root_rank=1, name="e")
        hvd.allgather_object(1, name="f")
        """,
        init="horovod",
    )
    assert columns(first, "kind", "peer", "bytes", "results") == [
        ("allreduce", None, 16, [2.0, 2.0, 2.0, 2.0]),
        ("allreduce", None, 8, [2.0, 2.0]),
        ("reduce_scatter", None, 8, [2.0]),
        ("alltoall", None, 8, None),
        ("broadcast", 1, 0, None),
        ("allgather", None, 8, None),
    ]
