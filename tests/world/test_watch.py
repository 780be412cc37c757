"""The watch: every call of the three libraries, with bytes, peer, time and line, on real ranks."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from student_cells import call, cell

from course.watch.events import DamagedLog, Description, kind_of, read_log
from course.watch.log import CLOSED, FLOAT, INTEGER, LIMIT, NONE, NOT_FINITE, TEXT, Log, header, is_full, read
from course.watch.recorder import Recorder, said
from course.world import COMM

MPI_CALLS = cell(
    """
    import numpy as np
    from mpi4py import MPI

    def f(comm):
        comm.allreduce(float(comm.rank))
        comm.Allreduce(np.ones(3), np.zeros(3), op=MPI.MAX)
        comm.bcast("word", root=1)
        comm.Bcast(np.zeros(5, dtype=np.float32), 2)
        comm.reduce(1, op=MPI.SUM, root=2)
        comm.gather(1.5)
        comm.Barrier()
        if comm.rank == 0:
            comm.Send(np.arange(4), dest=2)
        if comm.rank == 2:
            comm.Recv(np.zeros(4, dtype=int), source=0)
        request = comm.Iallreduce(np.ones(1), np.zeros(1))
        MPI.Request.Waitall([request])
        forgotten = comm.Ibarrier()
        MPI.COMM_WORLD.Dup() if MPI.COMM_WORLD.size == comm.size else None
        inplace = np.full(2, 1.0)
        comm.Allreduce(MPI.IN_PLACE, inplace)
    """
)


def seen(events: list[dict], *keys: str) -> list[tuple]:
    """Some columns of the events."""
    return [tuple(event[key] for key in keys) for event in events]


def test_each_call_of_mpi4py_is_an_event_with_bytes_peer_and_line(world):
    world.run(call, MPI_CALLS, COMM, ranks=[3, 0, 1])
    assert seen(world.events[0], "op", "kind", "bytes", "peer", "reduction", "line") == [
        ("allreduce", "allreduce", 8, None, "SUM", 5),
        ("Allreduce", "allreduce", 24, None, "MAX", 6),
        ("bcast", "broadcast", 0, 1, None, 7),
        ("Bcast", "broadcast", 0, 2, None, 8),
        ("reduce", "reduce", 8, 2, "SUM", 9),
        ("gather", "gather", 8, 0, None, 10),
        ("Barrier", "barrier", 0, None, None, 11),
        ("Send", "send", 32, 2, None, 13),
        ("Iallreduce", "allreduce", 8, None, "SUM", 16),
        ("Ibarrier", "barrier", 0, None, None, 18),
        ("Allreduce", "allreduce", 16, None, "SUM", 21),
    ]
    assert seen(world.events[2], "op", "peer", "bytes", "received", "tag")[7] == ("Recv", 0, 0, 32, 0)
    assert [rank[3]["bytes"] for rank in world.events] == [0, 0, 20], "the root sends, and nobody else"
    assert all(event["members"] == [0, 1, 2] for event in world.events[1])
    assert [rank[0]["values"] for rank in world.events] == [[0.0], [1.0], [2.0]]
    assert [rank[0]["results"] for rank in world.events] == [[3.0]] * 3
    assert [seen(rank, "values", "results")[-1] for rank in world.events] == [([1.0, 1.0], [3.0, 3.0])] * 3


def test_a_request_ends_when_it_is_waited_for_and_else_never(world):
    world.run(call, MPI_CALLS, COMM, size=3)
    ends = {event["op"]: event["end"] for event in world.events[0]}
    assert ends["Iallreduce"] is not None, "waited for by Waitall"
    assert ends["Ibarrier"] is None, "never waited for"
    for event in world.events[0]:
        assert event["end"] is None or event["end"] >= event["start"] >= 0


def test_calls_of_torch_distributed_are_events(world):
    torch_calls = cell(
        """
        import torch
        import torch.distributed as dist
        from torch.distributed import broadcast

        def f():
            x = torch.ones(10)
            dist.all_reduce(x, op=dist.ReduceOp.MAX)
            broadcast(x, src=1)
            work = dist.all_reduce(torch.tensor(2.5, dtype=torch.float64), async_op=True)
            work.wait()
            forgotten = dist.all_reduce(x, async_op=True)
            dist.all_gather([torch.zeros(10) for _ in range(dist.get_world_size())], x)
            things = [None] * dist.get_world_size()
            dist.all_gather_object(things, {"a": 1})
            dist.barrier()
        """
    )
    world.run(call, torch_calls, size=2, init="torch")
    assert seen(world.events[1], "library", "op", "kind", "bytes", "dtype", "line")[:5] == [
        ("torch", "all_reduce", "allreduce", 40, "float32", 7),
        ("torch", "broadcast", "broadcast", 40, "float32", 8),
        ("torch", "all_reduce", "allreduce", 8, "float64", 9),
        ("torch", "all_reduce", "allreduce", 40, "float32", 11),
        ("torch", "all_gather", "allgather", 40, "float32", 12),
    ]
    assert seen(world.events[1], "op")[5:] == [("all_gather_object",), ("barrier",)], "calls inside calls do not count"
    assert world.events[1][0]["reduction"] == "MAX"
    assert world.events[1][1]["peer"] == 1
    assert seen(world.events[1], "values", "results")[2] == ([2.5], [5.0])
    assert [event["end"] is None for event in world.events[1][2:5]] == [False, True, False]


def test_calls_of_horovod_are_events_and_its_default_is_an_average(world):
    horovod_calls = cell(
        """
        import horovod.torch as hvd
        import torch

        def f():
            hvd.allreduce(torch.ones(4), name="a")
            hvd.allreduce(torch.ones(4), op=hvd.Sum, name="b")
            handle = hvd.allreduce_async_(torch.ones(2), op=hvd.Sum, name="c")
            hvd.synchronize(handle)
            hvd.allreduce_async_(torch.ones(2), name="d")
            hvd.broadcast_parameters({"w": torch.ones(8)}, root_rank=1)
        """
    )
    world.run(call, horovod_calls, size=2, init="horovod")
    assert seen(world.events[0], "library", "op", "kind", "bytes", "reduction", "line") == [
        ("horovod", "allreduce", "allreduce", 16, "AVERAGE", 5),
        ("horovod", "allreduce", "allreduce", 16, "SUM", 6),
        ("horovod", "allreduce_async_", "allreduce", 8, "SUM", 7),
        ("horovod", "allreduce_async_", "allreduce", 8, "AVERAGE", 9),
        ("horovod", "broadcast_async_", "broadcast", 0, None, 10),
    ]
    assert [event["end"] is None for event in world.events[0]] == [False, False, False, True, False]
    assert world.events[0][4]["peer"] == 1
    assert [(rank[4]["bytes"], rank[4]["room"]) for rank in world.events] == [(0, 32), (32, 32)]
    assert seen(world.events[0], "values", "results", "members")[2] == ([1.0, 1.0], [2.0, 2.0], [0, 1])


def test_the_libraries_are_as_before_when_a_run_is_over(world):
    look = cell(
        """
        import torch.distributed as dist
        import horovod.torch as hvd
        from mpi4py import MPI

        def f():
            functions = dist.all_reduce, dist.Work.wait, dist.ProcessGroup.allreduce, hvd.allreduce
            watched = [getattr(function, "__code__", None) and function.__code__.co_filename for function in functions]
            return [type(MPI.COMM_WORLD).__module__, MPI.Request.__module__, MPI.Win.__module__, *watched]
        """
    )
    watched = world.attempt(call, look, size=1).results[0]
    plain = world.attempt(call, look, size=1, watch=False).results[0]
    assert not any("course/watch" in str(where) for where in plain)
    assert all("course/watch" in where.replace(".", "/") for where in watched)


def test_a_call_that_raises_is_marked_and_the_next_ones_are_recorded(world):
    fails = cell(
        """
        import numpy as np
        def f(comm):
            try:
                comm.Bcast("no buffer")
            except Exception:
                pass
            comm.barrier()
        """
    )
    world.run(call, fails, COMM, size=2)
    assert seen(world.events[0], "op", "failed") == [("Bcast", True), ("barrier", False)]


@pytest.mark.parametrize("end", ["os._exit(1)", "os.kill(os.getpid(), 9)"])
def test_events_of_a_rank_that_hangs_or_died_are_there(world, end):
    dies = cell(
        f"""
        import os
        from student_cells import await_others
        def f(comm):
            comm.allreduce(1)
            if comm.rank == 1:
                await_others("barrier")
                {end}
            comm.barrier()
        """
    )
    outcome = world.attempt(call, dies, COMM, size=3)
    assert [seen(rank, "op", "state") for rank in outcome.events] == [
        [("allreduce", "done"), ("barrier", "called")],
        [("allreduce", "done")],
        [("allreduce", "done"), ("barrier", "called")],
    ]


def test_unwatched_runs_have_no_events(world):
    world.run(call, MPI_CALLS, COMM, size=3, watch=False)
    assert world.events == [[], [], []]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Iallreduce", "allreduce"),
        ("all_reduce", "allreduce"),
        ("allreduce_async_", "allreduce"),
        ("isend", "send"),
        ("Bcast", "broadcast"),
        ("reducescatter", "reduce_scatter"),
        ("all_gather_into_tensor_coalesced", "allgather"),
        ("reduce_scatter_tensor_autograd", "reduce_scatter"),
        ("_allgather_base", "allgather"),
        ("grouped_allreduce_async_", "allreduce"),
        ("broadcast_object_list", "broadcast"),
        ("Neighbor_alltoallv_init", "alltoall"),
        ("Issend", "send"),
        ("Sendrecv_replace", "sendrecv"),
        ("Probe", "probe"),
        ("Split_type", "communicator"),
        ("Create", "communicator"),
        ("Win.Create", "window"),
        ("Win.Rput", "put"),
        ("Win.Start", "window"),
        ("Agree", "other"),
    ],
)
def test_operations_have_one_name_across_libraries(name, kind):
    assert kind_of(name) == kind


BARRIER = dict.fromkeys(Description.__annotations__) | {"library": "mpi4py", "op": "barrier"}


def written(path: Path, *lines: object, slots: Sequence[tuple] = ((0, NONE, 0.0, 0.1),)) -> str:
    """A log with these lines, and with these calls, of which each ends but the last."""
    log = Log(str(path))
    for line in lines:
        log.say(json.dumps(line).encode())
    for number, slot in enumerate(slots):
        log.begin(number, *slot)
        if number < len(slots) - 1:
            log.end(number, *slot[1:3], slot[3] + 0.1)
    log.close()
    return str(path)


def test_a_log_is_read_up_to_where_it_was_written(tmp_path):
    numbers = (FLOAT, 0.5, 0.3), (INTEGER, 2.0, 0.4), (TEXT, 0.0, 0.5), (NOT_FINITE, 0.0, 0.6)
    slots = [(0, NONE, 0.0, 0.1), *((0, *each) for each in numbers)]
    more = {"results": [1, None], "tag": 7}
    lines = ["call", BARRIER], ["values", 3, [3, 4.5]], ["more", 2, {"received": 8}], ["more", 3, more]
    first, second, third, fourth, last = read_log(written(tmp_path / "log", *lines, slots=slots))
    times = first["start"], first["waited"], first["end"], first["state"]
    assert (first["kind"], *times) == ("barrier", 0.1, 0.1, 0.2, "done")
    values = [each["values"] for each in (first, second, third, fourth, last)]
    assert values == [None, [0.5], [2], [3, 4.5], [None]]
    assert (second["results"], third["results"], third["received"]) == ([0.5], [2], None)
    assert (fourth["results"], fourth["tag"]) == ([1, None], 7)
    assert (last["end"], last["state"], last["results"], last["tag"]) == (None, "called", None, None)
    assert read_log(str(tmp_path / "none")) == []
    assert header(str(tmp_path / "none")) == b""


def test_each_entry_changes_the_header_of_a_log(tmp_path):
    log = Log(str(tmp_path / "log"))
    seen = [header(str(tmp_path / "log"))]
    entries = [
        lambda: log.say(b'["call", {}]'),
        lambda: log.begin(0, 0, NONE, 0.0, 0.1),
        lambda: log.leave(0, 0.2),
        lambda: log.wait(0, 0.3),
        lambda: log.end(0, NONE, 0.0, 0.4),
    ]
    for entry in entries:
        entry()
        seen.append(header(str(tmp_path / "log")))
    assert len(set(seen)) == len(entries) + 1


BAD_SLOTS = [(3, NONE, 0.0, 0.1), (0, 9, 0.0, 0.1), (0, FLOAT, math.nan, 0.1), (0, NONE, 0.0, math.inf)]


@pytest.mark.parametrize(
    ("lines", "slot"),
    [
        *[([["call", BARRIER]], slot) for slot in BAD_SLOTS],
        *[
            (lines, (0, NONE, 0.0, 0.1))
            for lines in [
                [],
                [{"op": "barrier"}],
                [[]],
                [7],
                [["call", {**BARRIER, "library": 1}]],
                [["call", {"op": "barrier"}]],
                [["call", {**BARRIER, "group": 5}]],
                [["call", BARRIER], ["more", 0, {"points": 9}]],
                [["call", BARRIER], ["values", [], 1]],
                [["_group", []]],
            ]
        ],
    ],
)
def test_a_log_that_something_else_wrote_is_refused(tmp_path, lines, slot):
    with pytest.raises(DamagedLog):
        read_log(written(tmp_path / "log", *lines, slots=[slot]))


def test_a_log_of_random_bytes_is_refused(tmp_path):
    rng = random.Random(5)
    for size in (1000, 100_000, 2_000_000):
        (tmp_path / "log").write_bytes(b"\xff" * 24 + rng.randbytes(size))
        with pytest.raises(DamagedLog):
            read_log(str(tmp_path / "log"))


def test_a_log_grows_as_text_is_written(tmp_path):
    log = Log(str(tmp_path / "log"))
    for number in range(30_000):
        log.say(b'["group", [%d]]' % number)
    log.close()
    slots, lines = read(str(tmp_path / "log"))
    assert (slots, len(lines)) == ([], 30_000)
    with pytest.raises(CLOSED):
        log.begin(0, 0, NONE, 0.0, 0.1)


def test_calls_beyond_the_limit_are_not_recorded_and_nothing_else_changes(tmp_path):
    recorder = Recorder(str(tmp_path / "log"), 0.0)
    numbers = [recorder.start("mpi4py", "barrier", said()) for _ in range(LIMIT)]
    assert not is_full(str(tmp_path / "log")), "all are there"
    numbers += [recorder.start("mpi4py", "barrier", said()) for _ in range(2)]
    for number in numbers:
        recorder.end(number)
    recorder.close()
    assert numbers[-2:] == [-1, -1]
    assert is_full(str(tmp_path / "log"))
    events = read_log(str(tmp_path / "log"))
    assert len(events) == LIMIT
    assert all(event["state"] == "done" for event in events)


def test_what_a_forked_process_communicates_is_not_taken_for_the_ranks(world):
    forks = cell(
        """
        import os
        from mpi4py import MPI

        def f(comm):
            child = os.fork()
            if not child:
                try:
                    MPI.COMM_WORLD.Split  # what is recorded would be recorded here
                    comm.bsend
                    comm.Is_inter()
                    comm.probe(source=MPI.PROC_NULL)
                finally:
                    os._exit(0)
            os.waitpid(child, 0)
            comm.barrier()
        """
    )
    world.run(call, forks, COMM, size=2)
    assert [seen(rank, "op") for rank in world.events] == [[("barrier",)]] * 2
