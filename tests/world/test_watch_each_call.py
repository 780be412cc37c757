"""Each call that labs may use to communicate is an event with its kind, peer and bytes, under each of the libraries."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

import pytest
from student_cells import call, cell

from course.world import COMM, World

BEGIN = """
import numpy as np
import torch
import torch.distributed as dist
from torch.distributed import batch_isend_irecv
from mpi4py import MPI

def f(comm):
    other = 1 - comm.rank
    numbers, space, two = np.ones(4), np.zeros(4), np.zeros(8)
"""
MPI_BEGIN = "MPI.Attach_buffer(bytearray(10_000))\n"
MPI_END = "MPI.Detach_buffer()\n"
TORCH_BEGIN = "x, y, z = torch.ones(4), torch.zeros(4), torch.zeros(8)\n"
HOROVOD_BEGIN = "import horovod.torch as hvd\n" + TORCH_BEGIN

# Calls of rank 0 and of rank 1 alike, with their kind, peer (seen from rank 0), bytes sent and bytes received. A call
# that sends finds the other rank's receive posted already, as `Rsend` asks, and one that receives a message sent.
SENDS = {
    **{f"comm.{name}(numbers, other)": 32 for name in ("Send", "Ssend", "Bsend", "Rsend")},
    **{f"comm.{name}(numbers, other).Wait()": 32 for name in ("Isend", "Issend", "Ibsend", "Irsend")},
    **{f"comm.{name}('text', other)": 19 for name in ("send", "ssend", "bsend")},
    **{f"comm.{name}('text', other).wait()": 19 for name in ("isend", "issend", "ibsend")},
    **{
        f"r = comm.{name}_init(numbers, other); r.Start(); r.Wait(); r.Free()": 32
        for name in ("Send", "Ssend", "Bsend", "Rsend")
    },
}
RECEIVES = {
    "comm.Recv(space, other)": 32,
    "comm.Irecv(space, other).Wait()": 32,
    "r = comm.Recv_init(space, other); r.Start(); r.Wait(); r.Free()": 32,
    "comm.recv(source=other)": 19,
    "comm.irecv(source=other).wait()": 19,
}
BOTH = {
    "comm.Sendrecv(numbers, other, 0, space, other)": (32, 32),
    "comm.Sendrecv_replace(numbers.copy(), other, 0, other)": (32, 32),
    "comm.Isendrecv(numbers, other, 0, space, other).Wait()": (32, 32),
    "comm.Isendrecv_replace(numbers.copy(), other, 0, other).Wait()": (32, 32),
    "comm.sendrecv('text', other, source=other)": (19, 19),
}
TORCH = {
    "dist.send(x, 1) if comm.rank == 0 else dist.recv(y, 0)": ("send", 1, 16),
    "dist.recv(y, 1) if comm.rank == 0 else dist.send(x, 0)": ("recv", 1, 0),
    "w = dist.isend(x, 1) if comm.rank == 0 else dist.irecv(y, 0); w.wait()": ("send", 1, 16),
    "w = dist.irecv(y, 1) if comm.rank == 0 else dist.isend(x, 0); w.wait()": ("recv", 1, 0),
    "[w.wait() for w in batch_isend_irecv([dist.P2POp(dist.isend, x, other), dist.P2POp(dist.irecv, y, other)])]": (
        ("send", 1, 16),
        ("recv", 1, 0),
    ),
    "dist.all_reduce(x.clone())": ("allreduce", None, 16),
    "dist.reduce(x.clone(), 1)": ("reduce", 1, 16),
    "dist.broadcast(x, 0)": ("broadcast", 0, 16),
    "dist.broadcast(x, 1)": ("broadcast", 1, 0),
    "dist.all_gather([y, y.clone()], x)": ("allgather", None, 16),
    "dist.all_gather_into_tensor(z, x)": ("allgather", None, 16),
    "dist.gather(x, [y, y.clone()] if comm.rank == 0 else None, 0)": ("gather", 0, 16),
    "dist.scatter(y, [x, x] if comm.rank == 0 else None, 0)": ("scatter", 0, 32),
    "dist.reduce_scatter(y, [x, x])": ("reduce_scatter", None, 32),
    "dist.reduce_scatter_tensor(y, z)": ("reduce_scatter", None, 32),
    "dist.all_to_all([y, y.clone()], [x, x])": ("alltoall", None, 32),
    "dist.all_to_all_single(z, torch.ones(8))": ("alltoall", None, 32),
    "dist.barrier()": ("barrier", None, 0),
}
HOROVOD = {
    "hvd.allreduce(x)": ("allreduce", None, 16),
    "hvd.allreduce_(x.clone())": ("allreduce", None, 16),
    "hvd.synchronize(hvd.allreduce_async(x))": ("allreduce", None, 16),
    "hvd.grouped_allreduce([x, x])": ("allreduce", None, 32),
    "hvd.allgather(x)": ("allgather", None, 16),
    "hvd.synchronize(hvd.allgather_async(x))": ("allgather", None, 16),
    "hvd.broadcast(x, 1)": ("broadcast", 1, 0),
    "hvd.broadcast(x, 0)": ("broadcast", 0, 16),
    "hvd.broadcast_(x, 1)": ("broadcast", 1, 0),
    "hvd.synchronize(hvd.broadcast_async(x, 1))": ("broadcast", 1, 0),
    "hvd.alltoall(x)": ("alltoall", None, 16),
    "hvd.synchronize(hvd.alltoall_async(x))": ("alltoall", None, 16),
    "hvd.reducescatter(x)": ("reduce_scatter", None, 16),
    "hvd.synchronize(hvd.reducescatter_async(x))": ("reduce_scatter", None, 16),
    "hvd.barrier()": ("barrier", None, 0),
}


def with_partner(line: str) -> str:
    """The lines of a call of mpi4py, with what the other rank's needs before and after it."""
    if line in SENDS:
        return f"r0 = comm.Irecv([two, MPI.BYTE], other)\ncomm.Barrier()\n{line}\nr0.Wait()\n"
    if line in RECEIVES:
        sent = "comm.Isend(numbers, other)" if "R" in line or "I" in line else "comm.isend('text', other)"
        return f"r0 = {sent}\n{line}\nr0.Wait()\n"
    return f"{line}\n"


PROGRAMS = {
    "mpi4py": MPI_BEGIN + "".join(map(with_partner, [*SENDS, *RECEIVES, *BOTH])) + MPI_END,
    "torch": TORCH_BEGIN + "\n".join(TORCH),
    "horovod": HOROVOD_BEGIN + "\n".join(HOROVOD),
}


@pytest.fixture(scope="module")
def seen(world: World) -> Iterator[dict[str, list[tuple]]]:
    """Rank 0's events by the line of the program that made the call: kind, peer, bytes, bytes received, state."""
    found: dict[str, list[tuple]] = {}
    for library, program in PROGRAMS.items():
        source = BEGIN.lstrip("\n") + textwrap.indent(program, "    ")
        world.run(call, cell(source), COMM, size=2, init=None if library == "mpi4py" else library)
        lines = source.splitlines()
        for event in world.events[0]:
            assert event["library"] == library
            entry = tuple(event[name] for name in ("kind", "peer", "bytes", "received", "state"))
            found.setdefault(lines[event["line"] - 1].strip(), []).append(entry)
    return found


@pytest.mark.parametrize("line", SENDS)
def test_a_send_of_mpi4py_is_noted(seen, line):
    assert seen[line] == [("send", 1, SENDS[line], None, "done")]


@pytest.mark.parametrize("line", RECEIVES)
def test_a_receive_of_mpi4py_is_noted(seen, line):
    assert seen[line] == [("recv", 1, 0, RECEIVES[line], "done")]


@pytest.mark.parametrize("line", BOTH)
def test_a_send_and_receive_in_one_call_of_mpi4py_is_noted(seen, line):
    assert seen[line] == [("sendrecv", 1, *BOTH[line], "done")]


@pytest.mark.parametrize("line", TORCH)
def test_a_call_of_torch_is_noted(seen, line):
    expected = TORCH[line] if isinstance(TORCH[line][0], tuple) else (TORCH[line],)
    received = {"recv": 16}
    assert seen[line] == [(*each, received.get(each[0]), "done") for each in expected]


@pytest.mark.parametrize("line", HOROVOD)
def test_a_call_of_horovod_is_noted(seen, line):
    assert [(*each[:3], each[4]) for each in seen[line]] == [(*HOROVOD[line], "done")]


@pytest.mark.parametrize(
    "line", ["dist.all_to_all([z[:4], z[4:]], [x, 2 * x])", "dist.all_to_all_single(z, torch.arange(8.0))"]
)
def test_of_an_all_to_all_what_is_sent_is_noted_not_what_comes(world, line):
    source = BEGIN.lstrip("\n") + textwrap.indent(TORCH_BEGIN + line + "\n", "    ")
    world.run(call, cell(source), COMM, size=2, init="torch")
    expected = [1.0] * 4 + [2.0] * 4 if "2 * x" in line else [float(number) for number in range(8)]
    assert [event["values"] for event in world.events[0]] == [expected]
