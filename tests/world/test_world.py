"""The world of ranks: right results on any ranks, and an answer in seconds whatever the student's code does."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator

import pytest
from student_cells import call, cell

from course.world import COMM, RANK, SIZE, NotEnoughRanks, RanksFailed, World

DISTANT = 3600  # a deadline before which a deadlock is noticed, or the test runs into its time limit

SUM = cell(
    """
    def f(comm):
        return comm.rank, comm.size, comm.allreduce(comm.rank)
    """
)
TORCH = cell(
    """
    import torch
    import torch.distributed as dist

    def f():
        mine = torch.tensor([dist.get_rank() + 1.0])
        dist.all_reduce(mine)
        return dist.get_rank(), dist.get_world_size(), mine.item()
    """
)
HOROVOD = cell(
    """
    import horovod.torch as hvd
    import torch

    def f():
        total = hvd.allreduce(torch.tensor([hvd.rank() + 1.0]), op=hvd.Sum)
        return hvd.rank(), hvd.size(), total.item()
    """
)


@pytest.fixture(scope="module", params=["mpiexec", pytest.param("slurm", marks=pytest.mark.thorough)])
def launcher(request) -> str:
    """What starts ranks: mpiexec here, or srun on a cluster's two nodes."""
    if request.param == "slurm":
        request.getfixturevalue("on_slurm")
    return request.param


@pytest.fixture(scope="module")
def world(launcher) -> Iterator[World]:
    """Four ranks."""
    with World(4, launcher=launcher, nodes=2 if launcher == "slurm" else None, progress=False) as started:
        yield started


def healthy(world: World) -> bool:
    """Whether all ranks and all libraries work."""
    size = world.size
    expected = [(rank, size, size * (size + 1) / 2) for rank in range(size)]
    return (
        world.run(call, SUM, COMM) == [(rank, size, size * (size - 1) // 2) for rank in range(size)]
        and world.run(call, TORCH, init="torch") == expected
        and world.run(call, HOROVOD, init="horovod") == expected
    )


@pytest.mark.sample(2)
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_each_library_works_on_the_first_ranks(world, size):
    total = size * (size + 1) / 2
    assert world.run(call, SUM, COMM, size=size) == [(r, size, total - size) for r in range(size)]
    assert world.run(call, TORCH, size=size, init="torch") == [(r, size, total) for r in range(size)]
    assert world.run(call, HOROVOD, size=size, init="horovod") == [(r, size, total) for r in range(size)]


@pytest.mark.parametrize("ranks", [[2], [3, 1], [2, 0, 3], [3, 2, 1, 0]])
def test_ranks_may_come_in_any_order(world, ranks):
    where = cell("from mpi4py import MPI\ndef f(comm, rank, size):\n    return MPI.COMM_WORLD.rank, rank, size")
    size = len(ranks)
    assert world.run(call, where, COMM, RANK, SIZE, ranks=ranks) == [(w, r, size) for r, w in enumerate(ranks)]
    for init, subject in (("torch", TORCH), ("horovod", HOROVOD)):
        expected = [(r, size, size * (size + 1) / 2) for r in range(size)]
        assert world.run(call, subject, ranks=ranks, init=init) == expected


@pytest.mark.thorough
@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_world_has_as_many_ranks_as_asked_for(launcher, size):
    with World(size, launcher=launcher, progress=False) as small:
        assert healthy(small)


def test_the_variables_of_torchrun_are_set(world, launcher):
    names = ["RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR"]
    read = cell(f"import os\ndef f():\n    return [os.environ[name] for name in {names}]")
    here = [[str(r), "2", str(r), "2", "127.0.0.1"] for r in range(2)]
    apart = [[str(r), "2", "0", "1", socket.gethostname()] for r in range(2)]  # rank 3 is alone on the second node
    assert world.run(call, read, ranks=[3, 1]) == (apart if launcher == "slurm" else here)


def test_a_deadlock_is_told_by_rank_and_line_and_the_world_goes_on(world):
    hang = cell(
        """
        def f(comm):
            part = 1.0
            if comm.rank == 0:
                return part
            return comm.allreduce(part)
        """
    )
    outcome = world.attempt(call, hang, COMM, deadline=DISTANT)
    assert outcome.state == "hang"
    assert (
        outcome.detail == "ranks 1, 2 and 3 wait in comm.allreduce, cell line 5; rank 0 returned without communicating."
    )
    assert "ranks 1-3  wait in comm.allreduce, cell line 5:  return comm.allreduce(part)" in outcome.report
    assert healthy(world)


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("init", "subject", "where"),
    [
        ("torch", TORCH, "dist.all_reduce, cell line 6"),
        ("horovod", HOROVOD, "hvd.allreduce, cell line 5"),
    ],
)
def test_a_deadlock_in_torch_or_horovod_is_told_as_well(world, init, subject, where):
    source = subject.source.replace("def f():", "def f(rank):\n    if rank == 1: return")
    outcome = world.attempt(call, cell(source), RANK, init=init, deadline=DISTANT)
    assert outcome.state == "hang"
    line = int(where.split()[-1]) + 1
    assert outcome.detail.startswith(
        f"ranks 0, 2 and 3 wait in {where.split(',')[0]}, cell line {line}; rank 1 returned"
    )
    assert healthy(world)


@pytest.mark.thorough
def test_ranks_that_were_replaced_have_a_folder_for_temporary_files(world):
    hang = cell("def f(comm):\n    return comm.rank and comm.allreduce(1)")
    file = cell(
        "import tempfile\ndef f():\n    with tempfile.NamedTemporaryFile() as file:\n        return bool(file.name)"
    )
    for _ in range(2):
        assert world.run(call, file) == [True] * 4
        assert world.attempt(call, hang, COMM, deadline=DISTANT).state == "hang"


def test_an_asynchronous_call_that_cannot_finish_is_a_deadlock_where_it_is_waited_for(world):
    late = cell(
        """
        import numpy as np
        def f(comm):
            total = np.zeros(1)
            if comm.rank:
                request = comm.Iallreduce(np.ones(1), total)
                request.Wait()
        """
    )
    outcome = world.attempt(call, late, COMM, size=3, deadline=DISTANT)
    assert outcome.state == "hang"
    assert "ranks 1 and 2 wait in comm.Request.Wait, cell line 6" in outcome.detail


@pytest.mark.thorough
def test_an_endless_loop_is_too_slow_and_its_line_is_told(world, launcher):
    loop = cell("def f(comm):\n    while comm.rank == 2:\n        pass\n    comm.barrier()")
    # Time enough for the others to get to their barrier; in a job, none is given back for what other programs took.
    outcome = world.attempt(call, loop, COMM, deadline=10 if launcher == "slurm" else 4)
    assert outcome.state == "too-slow"
    assert "rank 2 still runs, cell line" in outcome.detail
    assert "ranks 0, 1 and 3 wait in comm.barrier, cell line 4" in outcome.detail
    assert healthy(world)


@pytest.mark.parametrize(
    ("death", "told"),
    [
        ("os.kill(os.getpid(), 9)", "killed by SIGKILL"),
        ("os.abort()", "killed by SIGABRT"),
        ("os._exit(7)", "its process exited with status 7"),
    ],
)
def test_a_rank_that_dies_is_told_by_rank_and_signal(world, death, told):
    dies = cell(f"import os\ndef f(comm):\n    if comm.rank == 2:\n        {death}\n    return comm.allreduce(1)")
    outcome = world.attempt(call, dies, COMM)
    assert outcome.state == "rank-died"
    assert f"rank 2 died: {told}" in outcome.detail
    assert [rank.state == "died" for rank in outcome.ranks] == [False, False, True, False]
    assert healthy(world)


def test_how_a_rank_died_is_told_also_where_its_parent_is_slow_to_notice(world):
    dies = cell("""
        import os, signal, subprocess
        from student_cells import await_others
        def f(comm):
            if comm.rank == 2:
                await_others("allreduce")
                stopped = f"until grep -q State:.T /proc/{os.getppid()}/status; do sleep 0.1; done"
                subprocess.Popen(["sh", "-c", f"{stopped}; sleep 2; kill -CONT {os.getppid()}"])
                os.kill(os.getppid(), signal.SIGSTOP)
                os.abort()
            return comm.allreduce(1)
    """)
    outcome = world.attempt(call, dies, COMM)
    assert outcome.detail == "rank 2 died: killed by SIGABRT; ranks 0, 1 and 3 wait in comm.allreduce, cell line 10."
    assert world.run(call, SUM, COMM, size=1) == [(0, 1, 0)]


def test_an_error_on_some_ranks_is_told_with_its_line_and_who_waits_for_them(world):
    fails = cell(
        """
        from student_cells import await_others
        def f(comm):
            if comm.rank == 1:
                await_others("allreduce")
            share = 1 / (comm.rank - 1)
            return comm.allreduce(share)
        """
    )
    outcome = world.attempt(call, fails, COMM)
    assert outcome.state == "raised"
    assert outcome.detail == (
        "rank 1 raised ZeroDivisionError: float division by zero, cell line 5; "
        "ranks 0, 2 and 3 wait in comm.allreduce, cell line 6."
    ).replace("float division", "division")
    assert healthy(world)


def test_an_error_on_all_ranks_needs_no_new_ranks(world):
    before = world.pids
    outcome = world.attempt(call, cell("def f():\n    raise ValueError('no')"))
    assert outcome.detail == "ranks 0, 1, 2 and 3 raised ValueError: no, cell line 2."
    assert healthy(world)
    assert world.pids == before


def test_a_message_that_nobody_received_does_not_reach_the_next_run(world):
    stray = cell("def f(comm):\n    if comm.rank == 0:\n        comm.send('stray', dest=1)")
    receive = cell("def f(comm):\n    return comm.recv() if comm.rank else comm.send('mine', dest=1)")
    world.run(call, stray, COMM, size=2)
    assert world.run(call, receive, COMM, size=2)[1] == "mine"


def test_exits_of_the_student_code_do_not_end_a_rank(world):
    before = world.pids
    assert world.attempt(call, cell("import sys\ndef f():\n    sys.exit(3)")).state == "raised"
    assert world.pids == before


def test_run_prints_what_ranks_print_and_raises_what_went_wrong(world, capsys):
    talk = cell("def f(rank):\n    print('I am', rank)\n    assert rank == 0, 'not me'")
    with pytest.raises(RanksFailed, match="rank 1 raised AssertionError: not me"):
        world.run(call, talk, RANK, size=2)
    assert capsys.readouterr().out.splitlines() == ["[rank 0] I am 0", "[rank 1] I am 1"]


def test_wrong_calls_are_refused_before_anything_runs(world):
    with pytest.raises(NotEnoughRanks, match="This takes rank 7, and there are ranks 0 to 3"):
        world.run(call, SUM, COMM, ranks=[1, 7])
    with pytest.raises(ValueError, match=r"No such ranks in a world of 4: \[1, -1\]"):
        world.run(call, SUM, COMM, ranks=[1, -1])
    with pytest.raises(NotEnoughRanks, match="This takes 5 ranks, and there are 4"):
        world.run(call, SUM, COMM, size=5)
    with pytest.raises(ValueError, match="torch"):
        world.run(call, SUM, COMM, init="nccl")
    with pytest.raises(TypeError, match="Cannot send"):
        world.run(call, (item for item in ()))


def test_what_a_run_leaves_under_way_cannot_spoil_its_outcome(world):
    def left() -> int:
        import os

        import torch.distributed as dist

        dist.destroy_process_group = lambda: os._exit(6)  # as gloo does where messages do not fit
        return 5

    outcome = world.attempt(left, size=2, init="torch")
    assert (outcome.state, outcome.results) == ("ok", [5, 5])
    assert healthy(world)


def test_a_group_that_a_cell_leaves_is_shut_down_and_where_none_is_left_nothing_is_sent_for_it(world, monkeypatch):
    send, sent = world._processes.send, []

    def noted(member, function, *args):
        sent.append(function.__name__)
        return send(member, function, *args)

    monkeypatch.setattr(world._processes, "send", noted)
    world.run(call, SUM, COMM, size=2)
    assert sent == [*["open_subworld"] * 2, *["call"] * 2]
    world.run(call, cell("import torch.distributed as dist\ndef f():\n    dist.init_process_group('gloo')"), size=2)
    assert sent[-2:] == ["close_subworld"] * 2
    is_up = cell("import torch.distributed as dist\ndef f():\n    return dist.is_initialized()")
    assert world.run(call, is_up, size=2) == [False, False]


def test_a_rank_lost_between_two_runs_is_replaced(world):
    import os
    import signal

    os.kill(world.pids[1], signal.SIGKILL)
    while not world._processes.dead([1]):
        time.sleep(0.01)
    assert healthy(world)


def test_a_result_that_cannot_be_read_is_a_bad_result_and_the_world_goes_on(world):
    function = cell("""
        class Trap:
            def __reduce__(self):
                return eval, ("1 / 0",)

        def f(comm):
            return Trap()
    """)
    outcome = world.attempt(call, function, COMM, size=2)
    assert outcome.state == "bad-result"
    assert "What rank 0 returned cannot be read: ZeroDivisionError" in outcome.detail
    assert world.run(len, "ab", size=1) == [2]


def test_a_rank_that_prints_without_end_is_stopped(world):
    function = cell("""
        def f(comm):
            while True:
                print("x" * 1000)
    """)
    outcome = world.attempt(call, function, COMM, size=2)
    assert outcome.state == "too-much-output"
    assert max(len(rank["stdout"]) for rank in outcome.plain()["ranks"]) <= 10_000
