"""Other right answers to lab 03, and mistakes that people make, with the finding that each must get.

Each text below holds bodies of one TODO's function, one after another. A line ``== name`` begins a right answer, a line
``== name: finding, source`` a mistake; `source` is a key of SOURCES. SHARE stands for a call of `partial_sum`.
"""

from __future__ import annotations

from autograde.variants import Wrong, cells, mistakes

# Where the mistakes are known from.
SOURCES = {
    "uneven": "Stack Overflow: How to share work roughly evenly between processes in MPI despite the array_size not "
    "being cleanly divisible by the number of processes?",
    "last rank": "https://people.sc.fsu.edu/~jburkardt/cpp_src/task_division/task_division.html",
    "trapezoids": "https://www.learnpdc.org/IntermediatePDC/6-MPI-Exemplars/2-TrapIntegration.html",
    "pi exercise": "https://www.msi.umn.edu/workshops/mpi/hands-on/collective/finding-pi/assign",
    "reduce": "https://www.rookiehpc.com/mpi/docs/mpi_reduce.php",
    "reduce in gloo": "https://github.com/pytorch/pytorch/issues/76527",
    "allreduce": "http://ebook.pldworld.com/%2Dhuihoo%2D/book/mpi%2Dthe%2Dcomplete%2Dreference/node115.html",
    "request": "https://manpages.ubuntu.com/manpages/bionic/man3/MPI_Iallreduce.3.html",
    "wait": "https://discuss.pytorch.org/t/what-is-the-difference-between-wait-and-barrier-in-torch-distributed/129720",
    "synchronize": "https://github.com/horovod/horovod/issues/286",
    "average": "https://github.com/horovod/horovod/issues/843",
    "divided again": "https://github.com/tczhangzhi/pytorch-distributed/issues/14",
    "not in place": "https://github.com/horovod/horovod/issues/6",
    "float32": "https://github.com/pytorch/pytorch/issues/136350",
    "numpy scalar": "https://github.com/pytorch/pytorch/issues/27754",
    "ordinary values": "https://github.com/horovod/horovod/issues/113",
    "subset of ranks": "https://github.com/horovod/horovod/issues/2640",
    "world": "https://github.com/su2code/SU2/issues/1179",
    "not the world": "https://github.com/precice/precice/issues/21",
    "init twice": "https://github.com/NVIDIA/Megatron-LM/pull/521",
    "shut down": "https://github.com/horovod/horovod/issues/2975",
    "finalize": "https://roomy-eyeliner-ba9.notion.site/Getting-Started-on-mpi4py-84e39c304af24d698809e22fafc8319f",
}

PARTIAL_SUM = """
import numpy as np


def partial_sum(f, intervals, rank, size):
"""
MPI = """
import numpy as np
from mpi4py import MPI


def parallel_pi(comm, intervals):
    rank, size = comm.rank, comm.size
"""
TORCH = """
import torch
import torch.distributed as dist


def parallel_pi_torch(intervals):
    rank, size = dist.get_rank(), dist.get_world_size()
"""
HOROVOD = """
import horovod.torch as hvd
import torch


def parallel_pi_horovod(intervals):
    rank, size = hvd.rank(), hvd.size()
"""


SHARE = "partial_sum(f, intervals, rank, size)"


def answers(head: str, bodies: str) -> dict[str, str]:
    """The cells of `bodies`, in which SHARE stands for a call of `partial_sum`."""
    return cells(head, bodies.replace("SHARE", SHARE))


def wrong(head: str, bodies: str) -> dict[str, Wrong]:
    """The mistakes in `bodies`."""
    return mistakes(answers(head, bodies), SOURCES)


RIGHT = {
    "partial_sum": answers(
        PARTIAL_SUM,
        """
== blocks
few, left = divmod(intervals, size)
start = rank * few + min(rank, left)
x = (np.arange(start, start + few + (rank < left)) + 0.5) / intervals
return float(np.sum(f(x)) / intervals)
== blocks_by_bounds
i = np.arange(rank * intervals // size, (rank + 1) * intervals // size)
return f((i + 0.5) / intervals).sum() / intervals
== array_split
h = 1 / intervals
return h * f(np.array_split((np.arange(intervals) + 0.5) * h, size)[rank]).sum()
== small_calls
total = 0.0
for i in range(size - 1 - rank, intervals, size):
    total += float(f(np.array([(i + 0.5) / intervals]))[0])
return total / intervals
== nothing_to_do
if rank >= intervals:
    return 0.0
x = np.linspace(0.5 / intervals, 1 - 0.5 / intervals, intervals)[rank::size]
return sum(f(x).tolist()) / intervals
""",
    ),
    "parallel_pi": answers(
        MPI,
        """
== buffers
mine, total = np.array([SHARE]), np.zeros(1)
comm.Allreduce(mine, total, op=MPI.SUM)
return float(total[0])
== in_place
total = np.array(SHARE)
comm.Allreduce(MPI.IN_PLACE, [total, MPI.DOUBLE])
return total.item()
== request
mine, total = np.array([SHARE]), np.empty(1)
request = comm.Iallreduce(mine, total)
request.Wait()
return total[0]
== waitall
total = np.array([SHARE])
MPI.Request.Waitall([comm.Iallreduce(MPI.IN_PLACE, total)])
return float(total[0])
== own_way_to_add
return comm.allreduce(SHARE, op=lambda a, b: a + b)
== average_undone
return size * comm.allreduce(SHARE / size)
== alone_without
return SHARE if size == 1 else comm.allreduce(SHARE)
== inline
return comm.allreduce(np.sum(f((np.arange(rank, intervals, size) + 0.5) / intervals))) / intervals
== own_arithmetic
mine = sum(4 / (1 + ((i + 0.5) / intervals) ** 2) for i in range(rank, intervals, size))
return comm.allreduce(mine / intervals)
== shares_the_other_way
return comm.allreduce(partial_sum(f, intervals, rank=size - 1 - rank, size=size))
""",
    ),
    "parallel_pi_torch": answers(
        TORCH,
        """
== handle
total = torch.tensor(SHARE, dtype=torch.float64)
dist.all_reduce(total, async_op=True).wait()
return total.item()
== device_group_and_op
device = "cuda" if dist.get_backend() == "nccl" else "cpu"
total = torch.zeros(1, dtype=torch.double, device=device)
total += SHARE
dist.all_reduce(total, op=dist.ReduceOp.SUM, group=dist.group.WORLD)
return float(total)
== own_arithmetic
x = (torch.arange(intervals, dtype=torch.float64)[rank::size] + 0.5) / intervals
total = ((4 / (1 + x * x)).sum() / intervals).to("cuda" if dist.get_backend() == "nccl" else "cpu")
dist.all_reduce(total)
return total.item()
""",
    ),
    "parallel_pi_horovod": answers(
        HOROVOD,
        """
== average_undone
return size * hvd.allreduce(torch.tensor([SHARE], dtype=torch.float64)).item()
== in_place
total = torch.tensor([SHARE], dtype=torch.float64)
hvd.allreduce_(total, op=hvd.Sum, name="pi")
return total.item()
== handle
handle = hvd.allreduce_async(torch.tensor(SHARE, dtype=torch.float64), op=hvd.Sum)
return hvd.synchronize(handle).item()
== inline
x = (torch.arange(intervals, dtype=torch.float64)[rank::size] + 0.5) / intervals
return float(hvd.allreduce(torch.from_numpy(f(x.numpy())).sum() / intervals, average=False))
""",
    ),
}

WRONG = {
    "partial_sum": wrong(
        PARTIAL_SUM,
        """
== remainder_lost: remainder-lost, uneven
few = intervals // size
return float(np.sum(f((np.arange(rank * few, (rank + 1) * few) + 0.5) / intervals)) / intervals)
== last_takes_the_rest: unbalanced, last rank
few = intervals // size
i = np.arange(rank * few, intervals if rank == size - 1 else (rank + 1) * few)
return float(np.sum(f((i + 0.5) / intervals)) / intervals)
== rounded_up: unbalanced, uneven
few = -(-intervals // size)
return float(np.sum(f((np.arange(rank * few, min((rank + 1) * few, intervals)) + 0.5) / intervals)) / intervals)
== shares_overlap: overlapping-shares, trapezoids
i = np.arange(rank * intervals // size, min((rank + 1) * intervals // size + 1, intervals))
return float(np.sum(f((i + 0.5) / intervals)) / intervals)
== everything: everything-on-every-rank, pi exercise
return float(np.sum(f((np.arange(intervals) + 0.5) / intervals)) / intervals)
== float32_points: float32, numpy scalar
return float(np.sum(f((np.arange(rank, intervals, size, dtype=np.float32) + 0.5) / intervals)) / intervals)
== float32_points_cast_back: float32, numpy scalar
x = (np.arange(rank, intervals, size, dtype=np.float32) + np.float32(0.5)) * np.float32(1 / intervals)
return float(np.sum(f(x.astype(np.float64))) / intervals)
== float32_sum: float32, float32
return float(np.sum(f((np.arange(rank, intervals, size) + 0.5) / intervals), dtype=np.float32) / intervals)
== float32_result: float32, float32
return np.float32(np.sum(f((np.arange(rank, intervals, size) + 0.5) / intervals)) / intervals)
== h_of_own_points: local-h, trapezoids
h = 1 / max(1, len(range(rank, intervals, size)))
return float(np.sum(f((np.arange(len(range(rank, intervals, size))) + 0.5) * h)) * h)
== mean_of_own: local-h, trapezoids
x = (np.arange(rank, intervals, size) + 0.5) / intervals
return float(f(x).mean()) if len(x) else 0.0
== h_forgotten: wrong-value, pi exercise
return float(f((np.arange(rank, intervals, size) + 0.5) / intervals).sum())
== left_ends: not-midpoints, pi exercise
return float(f(np.arange(rank, intervals, size) / intervals).sum() / intervals)
== from_one: not-midpoints, pi exercise
return float(f((np.arange(rank + 1, intervals + 1, size) + 0.5) / intervals).sum() / intervals)
== plain_floats: not-an-array, pi exercise
return sum(f((i + 0.5) / intervals) for i in range(rank, intervals, size)) / intervals
== this_f_only: f-not-called, pi exercise
return float(np.sum(4 / (1 + ((np.arange(rank, intervals, size) + 0.5) / intervals) ** 2)) / intervals)
== empty_is_int: not-a-float, uneven
return float(f((np.arange(rank, intervals, size) + 0.5) / intervals).sum() / intervals) if rank < intervals else 0
== empty_raises: empty-share, uneven
first, *rest = f((np.arange(rank, intervals, size) + 0.5) / intervals)
return float((first + sum(rest)) / intervals)
== empty_is_nan: empty-share, uneven
x = (np.arange(rank, intervals, size) + 0.5) / intervals
return float(np.divide(f(x).sum(), len(x)) * len(x) / intervals)
""",
    ),
    "parallel_pi": wrong(
        MPI,
        """
== remainder_lost: remainder-lost, uneven
few = intervals // size
return comm.allreduce(np.sum(f((np.arange(rank * few, (rank + 1) * few) + 0.5) / intervals))) / intervals
== last_takes_the_rest: unbalanced, last rank
few = intervals // size
i = np.arange(rank * few, intervals if rank == size - 1 else (rank + 1) * few)
return comm.allreduce(np.sum(f((i + 0.5) / intervals))) / intervals
== shares_overlap: overlapping-shares, trapezoids
i = np.arange(rank * intervals // size, min((rank + 1) * intervals // size + 1, intervals))
return comm.allreduce(np.sum(f((i + 0.5) / intervals))) / intervals
== same_share: overlapping-shares, pi exercise
return comm.allreduce(partial_sum(f, intervals, 0, size))
== everything: everything-on-every-rank, pi exercise
return comm.allreduce(partial_sum(f, intervals, 0, 1)) / size
== everything_summed: everything-on-every-rank, pi exercise
return comm.allreduce(np.sum(4 / (1 + ((np.arange(intervals) + 0.5) / intervals) ** 2)) / intervals)
== everything_alone: everything-on-every-rank, pi exercise
return sum(partial_sum(f, intervals, r, size) for r in range(size))
== no_reduction: no-reduction, pi exercise
return SHARE
== reduce: reduce-not-allreduce, reduce
return comm.reduce(SHARE)
== reduce_into_zeros: reduce-not-allreduce, reduce
total = np.zeros(1)
comm.Reduce(np.array([SHARE]), total, op=MPI.SUM, root=0)
return float(total[0])
== reduce_then_broadcast: other-communication, allreduce
return comm.bcast(comm.reduce(SHARE))
== gather_and_add: other-communication, allreduce
return float(sum(comm.allgather(SHARE)))
== average: average-for-sum, divided again
return comm.allreduce(SHARE) / size
== float32_buffers: float32, float32
total = np.array(SHARE, dtype=np.float32)
comm.Allreduce(MPI.IN_PLACE, total)
return float(total)
== float32_result: float32, float32
return np.float32(comm.allreduce(SHARE))
== array_returned: not-a-float, allreduce
total = np.array([SHARE])
comm.Allreduce(MPI.IN_PLACE, total)
return total
== slots_for_all: too-many-bytes, allreduce
parts, total = np.zeros(size), np.zeros(size)
parts[rank] = SHARE
comm.Allreduce(parts, total)
return float(total.sum())
== only_rank_0: collective-skipped, subset of ranks
return comm.allreduce(SHARE) if rank == 0 else SHARE
== all_but_rank_0: collective-skipped, subset of ranks
return SHARE if rank == 0 else comm.allreduce(SHARE)
== in_the_loop: uneven-collectives, allreduce
total = 0.0
for x in (np.arange(rank, intervals, size) + 0.5) / intervals:
    total += comm.allreduce(float(f(np.array([x]))[0]) / intervals)
return total
== in_the_loop_over_pieces: allreduce-in-the-loop, allreduce
total = 0.0
for x in np.array_split((np.arange(rank, intervals, size) + 0.5) / intervals, 10):
    total += comm.allreduce(np.sum(f(x)) / intervals)
return total
== local_h: local-h, trapezoids
return comm.allreduce(partial_sum(f, intervals // size, rank, size))
== local_h_inline: local-h, trapezoids
n = len(range(rank, intervals, size))
return comm.allreduce(np.sum(f((np.arange(n) + 0.5) / n)) / n if n else 0.0)
== world: world-not-comm, world
return MPI.COMM_WORLD.allreduce(SHARE)
== world_shares: world-not-comm, not the world
return comm.allreduce(partial_sum(f, intervals, MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size))
== not_waited_for: not-waited-for, request
mine, total = np.array([SHARE]), np.zeros(1)
comm.Iallreduce(mine, total)
return float(total[0])
== result_dropped: own-share, not in place
total = SHARE
comm.allreduce(total)
return total
== ends_mpi: starts-or-ends, finalize
total = comm.allreduce(SHARE)
MPI.Finalize()
return total
""",
    ),
    "parallel_pi_torch": wrong(
        TORCH,
        """
== remainder_lost: remainder-lost, uneven
few = intervals // size
x = (torch.arange(rank * few, (rank + 1) * few, dtype=torch.float64) + 0.5) / intervals
total = torch.tensor([f(x.numpy()).sum() / intervals], dtype=torch.float64)
dist.all_reduce(total)
return total.item()
== shares_overlap: overlapping-shares, trapezoids
few = -(-intervals // size)
x = (torch.arange(intervals, dtype=torch.float64)[rank * few : (rank + 1) * few + 1] + 0.5) / intervals
total = torch.tensor([f(x.numpy()).sum() / intervals], dtype=torch.float64)
dist.all_reduce(total)
return total.item()
== everything: everything-on-every-rank, pi exercise
total = torch.tensor(partial_sum(f, intervals, 0, 1), dtype=torch.float64)
dist.all_reduce(total)
return total.item() / size
== no_reduction: no-reduction, pi exercise
return SHARE
== reduce: reduce-not-allreduce, reduce in gloo
total = torch.tensor(SHARE, dtype=torch.float64)
dist.reduce(total, dst=0)
return total.item()
== gather_and_add: other-communication, allreduce
parts = [torch.zeros(1, dtype=torch.float64) for _ in range(size)]
dist.all_gather(parts, torch.tensor([SHARE], dtype=torch.float64))
return sum(part.item() for part in parts)
== average: average-for-sum, divided again
total = torch.tensor(SHARE, dtype=torch.float64)
dist.all_reduce(total)
return total.item() / size
== float32: float32, float32
total = torch.tensor(SHARE)
dist.all_reduce(total)
return total.item()
== float32_result: float32, numpy scalar
total = torch.tensor(SHARE, dtype=torch.float64)
dist.all_reduce(total)
return total.float().item()
== empty_raises: empty-share, uneven
x = (torch.arange(rank, intervals, size, dtype=torch.float64) + 0.5) / intervals
total = (4 / (1 + x * x)).sum() / intervals
dist.all_reduce(total)
return total.item()
== tensor_returned: not-a-float, ordinary values
total = torch.tensor(SHARE, dtype=torch.float64)
dist.all_reduce(total)
return total
== what_all_reduce_returns: no-number, wait
total = torch.tensor(SHARE, dtype=torch.float64)
return dist.all_reduce(total)
== only_rank_0: collective-skipped, subset of ranks
total = torch.tensor(SHARE, dtype=torch.float64)
if rank == 0:
    dist.all_reduce(total)
return total.item()
== in_the_loop: allreduce-in-the-loop, allreduce
total = 0.0
for start in range(0, intervals, size):
    i = [start + rank] if start + rank < intervals else []
    x = (torch.tensor(i, dtype=torch.float64) + 0.5) / intervals
    part = torch.tensor(f(x.numpy()).sum() / intervals, dtype=torch.float64)
    dist.all_reduce(part)
    total += part.item()
return total
== local_h: local-h, trapezoids
total = torch.tensor(partial_sum(f, intervals // size, rank, size), dtype=torch.float64)
dist.all_reduce(total)
return total.item()
== world_shares: world-not-comm, not the world
from mpi4py import MPI
total = partial_sum(f, intervals, MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size)
total = torch.tensor(total, dtype=torch.float64)
dist.all_reduce(total)
return total.item()
== by_mpi: world-not-comm, ordinary values
from mpi4py import MPI
return MPI.COMM_WORLD.allreduce(SHARE)
== not_waited_for: not-waited-for, wait
total = torch.tensor(SHARE, dtype=torch.float64)
dist.all_reduce(total, async_op=True)
return total.item()
== starts_a_group: starts-or-ends, init twice
dist.init_process_group("gloo")
total = torch.tensor(SHARE, dtype=torch.float64)
dist.all_reduce(total)
dist.destroy_process_group()
return total.item()
""",
    ),
    "parallel_pi_horovod": wrong(
        HOROVOD,
        """
== remainder_lost: remainder-lost, uneven
few = intervals // size
x = (torch.arange(rank * few, (rank + 1) * few, dtype=torch.float64) + 0.5) / intervals
return hvd.allreduce(torch.tensor(f(x.numpy()).sum() / intervals, dtype=torch.float64), op=hvd.Sum).item()
== shares_overlap: overlapping-shares, trapezoids
few = -(-intervals // size)
x = (torch.arange(intervals, dtype=torch.float64)[rank * few : (rank + 1) * few + 1] + 0.5) / intervals
return hvd.allreduce(torch.tensor(f(x.numpy()).sum() / intervals, dtype=torch.float64), op=hvd.Sum).item()
== everything: everything-on-every-rank, ordinary values
return hvd.allreduce(torch.tensor(partial_sum(f, intervals, 0, 1), dtype=torch.float64)).item()
== no_reduction: no-reduction, pi exercise
return SHARE
== gather_and_add: other-communication, ordinary values
return hvd.allgather(torch.tensor([SHARE], dtype=torch.float64)).sum().item()
== average: average-for-sum, average
return hvd.allreduce(torch.tensor(SHARE, dtype=torch.float64)).item()
== float32: float32, float32
return hvd.allreduce(torch.tensor([SHARE]), op=hvd.Sum).item()
== empty_raises: empty-share, uneven
x = (torch.arange(rank, intervals, size, dtype=torch.float64) + 0.5) / intervals
return hvd.allreduce((4 / (1 + x * x)).sum() / intervals, op=hvd.Sum).item()
== tensor_returned: not-a-float, ordinary values
return hvd.allreduce(torch.tensor(SHARE, dtype=torch.float64), op=hvd.Sum)
== result_dropped: own-share, not in place
total = torch.tensor(SHARE, dtype=torch.float64)
hvd.allreduce(total, op=hvd.Sum)
return total.item()
== only_rank_0: collective-skipped, subset of ranks
total = torch.tensor(SHARE, dtype=torch.float64)
if rank == 0:
    total = hvd.allreduce(total, op=hvd.Sum)
return total.item()
== in_the_loop: allreduce-in-the-loop, allreduce
total = 0.0
for start in range(0, intervals, size):
    i = [start + rank] if start + rank < intervals else []
    x = (torch.tensor(i, dtype=torch.float64) + 0.5) / intervals
    part = torch.tensor(f(x.numpy()).sum() / intervals, dtype=torch.float64)
    total += hvd.allreduce(part, op=hvd.Sum).item()
return total
== local_h: local-h, trapezoids
share = partial_sum(f, intervals // size, rank, size)
return hvd.allreduce(torch.tensor(share, dtype=torch.float64), op=hvd.Sum).item()
== world_shares: world-not-comm, not the world
from mpi4py import MPI
share = partial_sum(f, intervals, MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size)
return hvd.allreduce(torch.tensor(share, dtype=torch.float64), op=hvd.Sum).item()
== not_waited_for: not-waited-for, synchronize
total = torch.tensor(SHARE, dtype=torch.float64)
hvd.allreduce_async_(total, op=hvd.Sum)
return total.item()
== starts_horovod: starts-or-ends, shut down
hvd.init()
total = hvd.allreduce(torch.tensor(SHARE, dtype=torch.float64), op=hvd.Sum)
hvd.shutdown()
return total.item()
""",
    ),
}
