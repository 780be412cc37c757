"""Small programs with one mistake each in how their ranks communicate, and right ones that look alike.

Each is the body of a function ``f(comm)``, which has `rank`, `size`, `right`, `left` and some arrays.
"""

from __future__ import annotations

import textwrap

from student_cells import cell

from autograde.cells.subject import Subject

IMPORTS = "import numpy as np\nimport torch\nimport torch.distributed as dist\nfrom mpi4py import MPI\n\n"
FIRST = 10  # the cell's line of the first line of a body
HEAD = """
def f(comm):
    rank, size = comm.rank, comm.size
    one, more, many = np.ones(1), np.zeros(size), np.zeros(100_000)
    right, left = (rank + 1) % size, (rank - 1) % size
"""


def program(body: str) -> Subject:
    """A student's cell whose function has this body."""
    text = IMPORTS + HEAD.lstrip("\n") + textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
    assert text.count("\n") >= FIRST - 1
    return cell(text)


# By name: the key, the lines of the body that are told, from 0, and the body. MPI lets all of them pass.
PASSING = {
    "other order": (
        "other-order",
        [1, 4],
        """
        if rank:
            comm.Reduce(one, more[:1])
            comm.Gather(one, more)
        else:
            comm.Gather(one, more)
            comm.Reduce(one, more[:1])
        """,
    ),
    "not waiting is another call": (
        "other-order",
        [1, 3],
        """
        if rank:
            comm.Igather(one, None).Wait()
        else:
            comm.Scatter(more, one)
        """,
    ),
    "the root does not wait for who comes later": (
        "other-order",
        [1, 4],
        """
        if rank == 0:
            comm.Bcast(one)
            comm.Send(one, 1)
        else:
            comm.Recv(one, 0)
            comm.Bcast(one)
        """,
    ),
    "root": ("root-differs", [0], "comm.Bcast(one, root=rank)"),
    "root of objects": ("root-differs", [0], "comm.bcast(1, root=rank)"),
    "operator": ("operator-differs", [0], "comm.allreduce(1, MPI.MAX if rank else MPI.SUM)"),
    "operator in two lines": (
        "operator-differs",
        [1, 3],
        """
        if rank:
            comm.Allreduce(one, more[:1], MPI.MAX)
        else:
            comm.Allreduce(one, more[:1])
        """,
    ),
    "size": ("size-differs", [0], "comm.Bcast(np.zeros(1 + rank))"),
    "type": ("dtype-differs", [0], "comm.Bcast(np.zeros(1, np.int64 if rank else np.float64))"),
    "type given by hand": ("dtype-differs", [0], "comm.Bcast([many, 1, MPI.INT if rank else MPI.FLOAT])"),
    "type of a message": (
        "dtype-differs",
        [1, 3],
        """
        if rank:
            comm.Recv([many, 1, MPI.FLOAT])
        else:
            comm.Send([many, 1, MPI.INT], 1)
        """,
    ),
    "nobody receives": ("never-received", [1], "if rank == 0:\n    comm.send(1, 1)"),
    "nobody receives the second one": (
        "never-received",
        [0, 2],
        """
        if rank == 0:
            comm.Send(one, 1)
            comm.Isend(one, 1, tag=3).Wait()
        else:
            comm.Recv(one, 0)
        """,
    ),
    "both send, none receives": ("never-received", [0], "comm.send(1, right)"),
    "no wait": ("never-waited", [0], "comm.Ibarrier()"),
    "no wait for a receive": (
        "never-waited",
        [1],
        """
        if rank:
            request = comm.Irecv(one, 0)
        else:
            comm.Send(one, 1)
        """,
    ),
    "all send first": ("sends-first", [0], "comm.Send(one, right)\ncomm.Recv(one, left)"),
    "all send first and wait for it": ("sends-first", [0], "comm.isend(1, right).wait()\ncomm.recv(source=left)"),
    "to oneself": ("sends-first", [1], "if rank == 1:\n    comm.send(1, rank)\n    comm.recv(source=rank)"),
    "a call is missing": ("call-missing", [0, 1], "if rank == 0:\n    comm.bcast(1)"),
    "a call is missing before others": (
        "call-missing",
        [0, 1, 2],
        "if rank == 0:\n    comm.scatter([1, 2])\ncomm.gather(1, root=1)",
    ),
    "a call is missing after an early return": ("call-missing", [0, 2], "if rank:\n    return\ncomm.bcast(1)"),
    "a call is missing, which another branch has, too": (
        "call-missing",
        [0, 1, 4],
        """
        if rank:
            if size > 2:
                comm.bcast(1)
        else:
            comm.bcast(1)
        """,
    ),
    "type of a message that is prepared": (
        "dtype-differs",
        [1, 3, 4],
        """
        if rank:
            request = comm.Recv_init([many, 1, MPI.FLOAT], 0)
        else:
            request = comm.Send_init([many, 1, MPI.INT], 1)
        request.Start()
        request.Wait()
        """,
    ),
}


RIGHT = {
    "wildcards": """
        if rank == 0:
            found = [comm.recv(source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG) for _ in range(1, size)]
        else:
            comm.send(rank, 0, tag=rank)
        """,
    "an order that only a wildcard can have": """
        if rank == 0:
            comm.Recv(one, MPI.ANY_SOURCE)
            comm.Recv(one, MPI.ANY_SOURCE)
        elif rank == 1:
            comm.Recv(one, 2)
            comm.Send(one, 0)
        elif rank == 2:
            comm.Send(one, 0)
            comm.Send(one, 1)
        """,
    "both ways": """
        comm.Sendrecv(one, right, 1, more[:1], left, 1)
        comm.sendrecv("word", right, source=left)
        comm.Sendrecv_replace(one, right, 2, left, 2)
        comm.Isendrecv(one, right, 0, more[:1], left).Wait()
        """,
    "not waiting": """
        requests = [comm.Irecv(more[:1], left), comm.Isend(one, right)]
        MPI.Request.Waitall(requests)
        first, second = comm.isend(rank, right, tag=1), comm.irecv(source=left, tag=1)
        second.wait(), first.wait()
        requests = [comm.Iallreduce(one, more[:1]), comm.Ibarrier()]
        MPI.Request.Waitall(requests[::-1])
        request = comm.Ibcast(one)
        while not request.Test():
            pass
        requests = [comm.Isend(one, right, 7), comm.Irecv(one, left, 7)]
        while MPI.Request.Waitany(requests) >= 0:
            pass
        """,
    "persistent": """
        send, receive = comm.Send_init(one, right), comm.Recv_init(more[:1], left)
        for _ in range(3):
            MPI.Prequest.Startall([receive, send])
            MPI.Request.Waitall([receive, send])
        send.Free(), receive.Free()
        """,
    "freed": """
        comm.Isend(one, right).Free()
        comm.Recv(more[:1], left)
        """,
    "nobody": """
        comm.Send(one, rank + 1 if rank + 1 < size else MPI.PROC_NULL)
        comm.Recv(one, rank - 1 if rank else MPI.PROC_NULL)
        """,
    "probes": """
        if rank == 0:
            comm.send("long" * 5, 1)
            comm.send("short", 1)
        elif rank == 1:
            status = MPI.Status()
            comm.Probe(status=status)
            comm.recv(source=status.source, tag=status.tag)
            comm.mprobe().recv()
        """,
    "parts": """
        half = comm.Split(rank % 2, -rank)
        half.allreduce(1)
        half.bcast(rank, root=half.size - 1)
        if half.size > 1:
            half.sendrecv(1, (half.rank + 1) % half.size)
        if rank % 2:
            half.barrier()
        comm.Dup().Allgather(one, more)
        comm.Barrier() if rank else comm.barrier()
        """,
    "unequal parts": """
        counts = np.arange(1, size + 1)
        comm.Gatherv(np.ones(rank + 1), [np.zeros(counts.sum()), counts] if rank == 0 else None)
        comm.Allgatherv(np.ones(rank + 1), [np.zeros(counts.sum()), counts])
        comm.Scatter(more if rank == 1 else None, one, root=1)
        comm.Allgather(MPI.IN_PLACE, more)
        comm.Reduce(MPI.IN_PLACE if rank == 0 else one, one if rank == 0 else None)
        comm.Gather(MPI.IN_PLACE if rank == 0 else one, more if rank == 0 else None)
        comm.Alltoall([more, 1, MPI.DOUBLE] if rank else more, np.zeros(size))
        comm.Reduce_scatter_block(more, one)
        comm.Scan(one, more[:1])
        comm.Recv(many, left) if rank else None
        comm.Send(np.ones(3), right)
        comm.Recv(many, left) if not rank else None
        """,
    "objects": """
        comm.allreduce(rank if rank else 0.5)
        comm.gather([1] * rank)
        comm.bcast({"a": 1} if rank == 0 else None)
        comm.scatter([*range(size)] if rank == 0 else None)
        """,
    "types made by hand": """
        column = MPI.DOUBLE.Create_vector(2, 1, 2).Commit()
        if rank == 0:
            comm.Send([np.zeros(4), 1, column], 1)
            comm.Send(np.zeros(8, np.uint8), 1)
        elif rank == 1:
            comm.Recv(np.zeros(2), 0)
            comm.Recv([one, MPI.DOUBLE], 0)
        """,
    "windows": """
        window = MPI.Win.Create(more, comm=comm)
        window.Fence()
        if rank == 0:
            window.Put(one, 1)
        window.Fence()
        window.Free()
        """,
    "loops": """
        for step in range(300):
            comm.Send(one, right) if rank % 2 else comm.Recv(one, left)
            comm.Recv(one, left) if rank % 2 else comm.Send(one, right)
            comm.allreduce(step)
        """,
}


TORCH_RIGHT = """
    work = [dist.isend(torch.ones(2), right), dist.irecv(torch.zeros(2), left)]
    [each.wait() for each in work]
    half = [dist.new_group([0, 1]), dist.new_group([2, 3])][rank // 2]
    dist.all_reduce(torch.ones(2), group=half)
    dist.broadcast(torch.ones(3), src=rank // 2 * 2, group=half)
    dist.all_reduce(torch.ones(2), async_op=True).wait()
    dist.all_reduce(torch.ones(2), async_op=True).get_future().wait()
    dist.all_gather_object([None] * size, [1] * rank)
    objects = [{"a": rank}]
    dist.broadcast_object_list(objects, src=1)
    dist.scatter(torch.zeros(1), [torch.ones(1)] * size if rank == 0 else None)
    dist.gather(torch.ones(1), [torch.zeros(1) for _ in range(size)] if rank == 0 else None)
    dist.all_to_all_single(torch.zeros(size), torch.ones(size))
    if rank == 0:
        [dist.recv(torch.zeros(1)) for _ in range(1, size)]
    else:
        dist.send(torch.ones(1), 0)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
    model(torch.ones(1, 2)).sum().backward()
    dist.barrier()
"""
# By name as above. gloo lets some of them pass, ends at others, and hangs at those of HANGING_TORCH.
HANGING_TORCH = ("order", "root", "a call is missing", "group", "all receive first")
TORCH = {
    "order": ("other-order", [0, 0], "[dist.all_reduce, lambda t: dist.broadcast(t, 0)][rank](torch.ones(1))"),
    "root": ("root-differs", [0], "dist.broadcast(torch.ones(1), src=rank)"),
    "operator": (
        "operator-differs",
        [0],
        "dist.all_reduce(torch.ones(1), dist.ReduceOp.MAX if rank else dist.ReduceOp.SUM)",
    ),
    "shape": ("size-differs", [0], "dist.all_reduce(torch.ones(4 + 4096 * rank))"),
    "type": ("dtype-differs", [0], "dist.all_reduce(torch.ones(1, dtype=[torch.float32, torch.int32][rank]))"),
    "wait": ("never-waited", [0], "dist.all_reduce(torch.ones(1), async_op=True)\ndist.barrier()"),
    "shape of a message": (
        "size-differs",
        [0, 0],
        "dist.recv(torch.zeros(9), 0) if rank else dist.send(torch.ones(2), 1)",
    ),
    "a call is missing": ("call-missing", [0], "dist.all_reduce(torch.ones(1)) if rank else None"),
    "group": (
        "communicator-differs",
        [1],
        "groups = dist.new_group([0, 1]), dist.new_group([0, 1])\ndist.all_reduce(torch.ones(1), group=groups[rank])",
    ),
    "all receive first": ("never-sent", [0], "dist.recv(torch.ones(1), right)"),
}


# By name as above: those that hang.
HANGING = {
    "tag": ("tag-differs", [0], "comm.recv(source=0, tag=1) if rank else comm.send(1, 1, tag=2)"),
    "communicator of a message": (
        "communicator-differs",
        [1],
        "other = comm.Dup()\ncomm.recv(source=0) if rank else other.send(1, 1)",
    ),
    "a communicator in which the ranks have other numbers": (
        "communicator-differs",
        [2, 4],
        """
        other = comm.Split(0, -rank)
        if rank:
            other.Irecv(one, 0).Wait()
        else:
            comm.Send(one, 1)
        """,
    ),
    "nobody sends": ("never-sent", [1], "if rank:\n    comm.recv(source=0)"),
    "nobody sends to whoever asks": ("never-sent", [1], "if rank:\n    comm.recv()"),
    "all receive first": ("never-sent", [0], "comm.recv(source=left)\ncomm.send(1, right)"),
    "all probe first": ("never-sent", [0], "comm.probe(source=left)\ncomm.send(1, right)"),
    "a message against a collective": (
        "other-order",
        [1, 3],
        "if rank:\n    comm.recv(source=0)\nelse:\n    comm.barrier()\n    comm.send(1, 1)\n",
    ),
    "other calls": ("other-order", [0], "[comm.barrier, lambda: comm.allreduce(1)][rank]()"),
    "a call is missing": ("call-missing", [0, 1], "if rank:\n    comm.allreduce(1)"),
    "a message is missing": (
        "never-sent",
        [0, 3],
        """
        if rank == 0 and size > 2:
            comm.send(1, 1)
        if rank == 1:
            comm.recv(source=0)
        """,
    ),
    "large messages first": ("sends-first", [0], "comm.Send(many, right)\ncomm.Recv(many, left)"),
    "the world is larger than the run": ("communicator-differs", [0], "MPI.COMM_WORLD.barrier()"),
}
