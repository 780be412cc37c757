"""Right answers to `parallel_pi_horovod`, and mistakes that people make."""

ANSWERS = r"""
import horovod.torch as hvd
import torch
def parallel_pi_horovod(intervals):
    rank, size = hvd.rank(), hvd.size()
== average_undone
    return size * hvd.allreduce(torch.tensor([partial_sum(f, intervals, rank, size)], dtype=torch.float64)).item()
== in_place
    total = torch.tensor([partial_sum(f, intervals, rank, size)], dtype=torch.float64)
    hvd.allreduce_(total, op=hvd.Sum, name="pi")
    return total.item()
== handle
    handle = hvd.allreduce_async(torch.tensor(partial_sum(f, intervals, rank, size), dtype=torch.float64), op=hvd.Sum)
    return hvd.synchronize(handle).item()
== inline
    x = (torch.arange(intervals, dtype=torch.float64)[rank::size] + 0.5) / intervals
    return float(hvd.allreduce(torch.from_numpy(f(x.numpy())).sum() / intervals, average=False))
== remainder_lost: remainder-lost, uneven
    few = intervals // size
    x = (torch.arange(rank * few, (rank + 1) * few, dtype=torch.float64) + 0.5) / intervals
    return hvd.allreduce(torch.tensor(f(x.numpy()).sum() / intervals, dtype=torch.float64), op=hvd.Sum).item()
== shares_overlap: overlapping-shares, trapezoids < remainder_lost
few = intervals // size >>> few = -(-intervals // size)
(rank * few, (rank + 1) * few, dtype=torch.float64) >>> (intervals, dtype=torch.float64)[rank * few : (rank + 1) * few + 1]
== everything: everything-on-every-rank, ordinary values
    return hvd.allreduce(torch.tensor(partial_sum(f, intervals, 0, 1), dtype=torch.float64)).item()
== no_reduction: no-reduction, pi exercise
    return partial_sum(f, intervals, rank, size)
== gather_and_add: other-communication, ordinary values
    return hvd.allgather(torch.tensor([partial_sum(f, intervals, rank, size)], dtype=torch.float64)).sum().item()
== average: average-for-sum, average
    return hvd.allreduce(torch.tensor(partial_sum(f, intervals, rank, size), dtype=torch.float64)).item()
== local_rank: local-rank-for-share, local rank < average_undone
hvd.rank() >>> hvd.local_rank()
== float32: float32, float32
    return hvd.allreduce(torch.tensor([partial_sum(f, intervals, rank, size)]), op=hvd.Sum).item()
== empty_raises: empty-rank, uneven
    x = (torch.arange(rank, intervals, size, dtype=torch.float64) + 0.5) / intervals
    return hvd.allreduce((4 / (1 + x * x)).sum() / intervals, op=hvd.Sum).item()
== tensor_returned: not-a-float, ordinary values
    return hvd.allreduce(torch.tensor(partial_sum(f, intervals, rank, size), dtype=torch.float64), op=hvd.Sum)
== result_dropped: own-part-only, not in place
    total = torch.tensor(partial_sum(f, intervals, rank, size), dtype=torch.float64)
    hvd.allreduce(total, op=hvd.Sum)
    return total.item()
== only_rank_0: call-missing, subset of ranks < result_dropped
hvd.allreduce( >>> if rank == 0:\n        total = hvd.allreduce(
== not_waited_for: not-waited-for, synchronize < result_dropped
hvd.allreduce( >>> hvd.allreduce_async_(
== in_the_loop: allreduce-in-the-loop, allreduce
    total = 0.0
    for start in range(0, intervals, size):
        i = [start + rank] if start + rank < intervals else []
        x = (torch.tensor(i, dtype=torch.float64) + 0.5) / intervals
        part = torch.tensor(f(x.numpy()).sum() / intervals, dtype=torch.float64)
        total += hvd.allreduce(part, op=hvd.Sum).item()
    return total
== local_h: other-integral, trapezoids
    share = partial_sum(f, intervals // size, rank, size)
    return hvd.allreduce(torch.tensor(share, dtype=torch.float64), op=hvd.Sum).item()
== world_shares: world-not-comm, not the world < local_h
share = >>> from mpi4py import MPI\n    share =
intervals // size, rank, size >>> intervals, MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size
== starts_horovod: starts-or-ends, shut down
    hvd.init()
    total = hvd.allreduce(torch.tensor(partial_sum(f, intervals, rank, size), dtype=torch.float64), op=hvd.Sum)
    hvd.shutdown()
    return total.item()
== nothing_put_in: same-on-every-rank, ordinary values
    hvd.allreduce(torch.tensor(0.0, dtype=torch.float64), op=hvd.Sum).item()
    return sum(4 / (1 + ((i + 0.5) / intervals) ** 2) for i in range(intervals)) / intervals
== its_number_put_in: not-what-came-out, pi exercise
    hvd.allreduce(torch.tensor(float(rank), dtype=torch.float64), op=hvd.Sum)
    return sum(4 / (1 + ((i + 0.5) / intervals) ** 2) for i in range(intervals)) / intervals
== nan_put_in: same-on-every-rank, pi exercise < its_number_put_in
float(rank) >>> float("nan")
== twice_its_part_put_in: not-what-came-out, pi exercise < its_number_put_in
float(rank) >>> 2 * sum(4 / (1 + ((i + 0.5) / intervals) ** 2) for i in range(rank, intervals, size)) / intervals
== largest_part: not-what-came-out, pi exercise < its_number_put_in
float(rank) >>> sum(4 / (1 + ((i + 0.5) / intervals) ** 2) for i in range(rank, intervals, size)) / intervals
hvd.Sum >>> hvd.Max
== rank_0_works: idle-ranks, pi exercise
    whole = sum(4 / (1 + ((i + 0.5) / intervals) ** 2) for i in range(intervals)) / intervals if rank == 0 else 0.0
    return hvd.allreduce(torch.tensor(whole, dtype=torch.float64), op=hvd.Sum).item()
== sum_dropped: result-dropped, pi exercise < its_number_put_in
float(rank) >>> partial_sum(f, intervals, rank, size)
== rank_0_asks_for_all: idle-ranks, pi exercise < average_undone
partial_sum(f, intervals, rank, size) >>> partial_sum(f, intervals, 0, 1) if rank == 0 else 0.0
== whole_divided: same-on-every-rank, ordinary values
    whole = sum(4 / (1 + ((i + 0.5) / intervals) ** 2) for i in range(intervals)) / intervals
    return hvd.allreduce(torch.tensor(whole / size, dtype=torch.float64), op=hvd.Sum).item()
== a_name_for_each_rank: name-differs, names < in_place
name="pi" >>> name=f"pi{rank}"
== averaged_twice: averaged-twice, blind < average_undone
size * >>>
.item() >>> .item() / size
== compressed: lost-in-16-bits, blind
    total = torch.tensor([partial_sum(f, intervals, rank, size)], dtype=torch.float64)
    return hvd.allreduce(total, op=hvd.Sum, compression=hvd.Compression.fp16).item()
== in_half_precision: lost-in-16-bits, blind < compressed
torch.float64 >>> torch.float16
, compression=hvd.Compression.fp16 >>>
== zeros_only: nothing-put-in, blind < compressed
total = >>> total, mine = torch.zeros(1, dtype=torch.float64),
, compression=hvd.Compression.fp16 >>>
== pi_from_the_library: pi-itself, blind < compressed
hvd.allreduce(total, op=hvd.Sum, compression=hvd.Compression.fp16).item() >>> hvd.allreduce(total, op=hvd.Sum).item() * 0 + torch.pi
== for_rank_0: not-on-all-ranks, ordinary values
    mine = torch.tensor([partial_sum(f, intervals, rank, size)], dtype=torch.float64)
    total = hvd.allreduce(mine, op=hvd.Sum).item()
    return total if rank == 0 else None
== in_fixed_point: whole-numbers-reduced, blind
    mine = torch.tensor(round(partial_sum(f, intervals, rank, size) * 2**50))
    return hvd.allreduce(mine, op=hvd.Sum).item() / 2**50
"""
