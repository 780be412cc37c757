"""Right answers to `parallel_pi_torch`, and mistakes that people make."""

ANSWERS = r"""
import torch
import torch.distributed as dist
def parallel_pi_torch(intervals):
    rank, size = dist.get_rank(), dist.get_world_size()
    device = "cuda" if dist.get_backend() == "nccl" else "cpu"
== handle
    total = torch.tensor(partial_sum(f, intervals, rank, size), dtype=torch.float64, device=device)
    dist.all_reduce(total, async_op=True).wait()
    return total.item()
== device_group_and_op
    total = torch.zeros(1, dtype=torch.double, device=device)
    total += partial_sum(f, intervals, rank, size)
    dist.all_reduce(total, op=dist.ReduceOp.SUM, group=dist.group.WORLD)
    return float(total)
== own_arithmetic
    x = (torch.arange(intervals, dtype=torch.float64)[rank::size] + 0.5) / intervals
    total = ((4 / (1 + x * x)).sum() / intervals).to(device)
    dist.all_reduce(total)
    return total.item()
== empty_raises: empty-rank, uneven < own_arithmetic
torch.arange(intervals, dtype=torch.float64)[rank::size] >>> torch.arange(rank, intervals, size, dtype=torch.float64)
((4 / (1 + x * x)).sum() / intervals).to(device) >>> (4 / (1 + x * x)).sum() / intervals
== functional
    from torch.distributed import _functional_collectives as functional
    mine = torch.tensor(partial_sum(f, intervals, rank, size), dtype=torch.float64, device=device)
    return functional.all_reduce(mine, "sum", dist.group.WORLD).item()
== method_of_the_group
    total = torch.tensor([partial_sum(f, intervals, rank, size)], dtype=torch.float64, device=device)
    dist.group.WORLD.allreduce([total]).wait()
    return float(total)
== current_gpu_by_its_number < handle
total = >>> if device == "cuda":\n        device = torch.device("cuda", torch.cuda.current_device())\n    total =
== first_gpu: not-on-device, blind < handle
device=device >>> device="cuda:0" if device == "cuda" else "cpu"
== gpu_of_its_rank: not-on-device, blind < handle
device=device >>> device=f"cuda:{rank}" if device == "cuda" else "cpu"
== gpu_of_its_rank_by_method: not-on-device, blind < own_arithmetic
.to(device) >>> .to(f"cuda:{rank}" if device == "cuda" else "cpu")
== on_the_cpu: not-on-device, cpu collective < handle
, device=device >>>
== functional_on_the_cpu: not-on-device, cpu collective < functional
, device=device >>>
== method_on_the_cpu: not-on-device, cpu collective < method_of_the_group
, device=device >>>
== moved_too_late: not-on-device, cpu collective < own_arithmetic
.to(device) >>>
total.item() >>> total.to(device).item()
== remainder_lost: remainder-lost, uneven
    few = intervals // size
    x = (torch.arange(rank * few, (rank + 1) * few, dtype=torch.float64) + 0.5) / intervals
    total = torch.tensor([f(x.numpy()).sum() / intervals], dtype=torch.float64, device=device)
    dist.all_reduce(total)
    return total.item()
== shares_overlap: overlapping-shares, trapezoids < remainder_lost
few = intervals // size >>> few = -(-intervals // size)
(rank * few, (rank + 1) * few, dtype=torch.float64) >>> (intervals, dtype=torch.float64)[rank * few : (rank + 1) * few + 1]
== everything: everything-on-every-rank, pi exercise
    total = torch.tensor(partial_sum(f, intervals, 0, 1), dtype=torch.float64, device=device)
    dist.all_reduce(total)
    return total.item() / size
== average: average-for-sum, divided again < everything
0, 1 >>> rank, size
== float32_result: float32, numpy scalar < average
total.item() / size >>> total.float().item()
== tensor_returned: not-a-float, ordinary values < average
total.item() / size >>> total
== float32: float32, float32 < handle
, dtype=torch.float64 >>>
all_reduce(total, async_op=True).wait() >>> all_reduce(total)
== local_h: other-integral, trapezoids < handle
intervals, rank >>> intervals // size, rank
all_reduce(total, async_op=True).wait() >>> all_reduce(total)
== world_shares: world-not-comm, not the world
    from mpi4py import MPI
    total = partial_sum(f, intervals, MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size)
    total = torch.tensor(total, dtype=torch.float64, device=device)
    dist.all_reduce(total)
    return total.item()
== no_reduction: no-reduction, pi exercise
    return partial_sum(f, intervals, rank, size)
== reduce: reduce-not-allreduce, reduce in gloo < handle
all_reduce(total, async_op=True).wait() >>> reduce(total, dst=0)
== only_rank_0: call-missing, subset of ranks < handle
dist.all_reduce(total, async_op=True).wait() >>> if rank == 0:\n        dist.all_reduce(total)
== not_waited_for: not-waited-for, wait < handle
.wait() >>>
== starts_a_group: starts-or-ends, init twice < handle
total = >>> dist.init_process_group("gloo")\n    total =
all_reduce(total, async_op=True).wait() >>> all_reduce(total)\n    dist.destroy_process_group()
== zeros_only: nothing-put-in, blind < device_group_and_op
total += >>> mine =
== pi_from_the_library: pi-itself, blind < handle
return total.item() >>> return torch.pi
== averaged_twice: averaged-twice, blind < handle
return total.item() >>> return total.item() / size**2
== in_half_precision: lost-in-16-bits, blind < handle
torch.float64 >>> torch.float16
== in_bfloat16: lost-in-16-bits, blind < handle
torch.float64 >>> torch.bfloat16
== what_all_reduce_returns: no-number, wait
    total = torch.tensor(partial_sum(f, intervals, rank, size), dtype=torch.float64, device=device)
    return dist.all_reduce(total)
== gather_and_add: other-communication, allreduce
    parts = [torch.zeros(1, dtype=torch.float64, device=device) for _ in range(size)]
    dist.all_gather(parts, torch.tensor([partial_sum(f, intervals, rank, size)], dtype=torch.float64, device=device))
    return sum(part.item() for part in parts)
== in_the_loop: allreduce-in-the-loop, allreduce
    total = 0.0
    for start in range(0, intervals, size):
        i = [start + rank] if start + rank < intervals else []
        x = (torch.tensor(i, dtype=torch.float64) + 0.5) / intervals
        part = torch.tensor(f(x.numpy()).sum() / intervals, dtype=torch.float64, device=device)
        dist.all_reduce(part)
        total += part.item()
    return total
== by_mpi: other-library, ordinary values
    from mpi4py import MPI
    return MPI.COMM_WORLD.allreduce(partial_sum(f, intervals, rank, size))
== nothing_put_in: same-on-every-rank, allreduce
    total = torch.zeros(1, dtype=torch.float64, device=device)
    dist.all_reduce(total)
    return sum(4 / (1 + ((i + 0.5) / intervals) ** 2) for i in range(intervals)) / intervals
== its_number_put_in: not-what-came-out, pi exercise
    total = torch.tensor(float(rank), dtype=torch.float64, device=device)
    dist.all_reduce(total)
    return sum(4 / (1 + ((i + 0.5) / intervals) ** 2) for i in range(intervals)) / intervals
== nan_put_in: same-on-every-rank, pi exercise < its_number_put_in
float(rank) >>> float("nan")
== twice_its_part_put_in: not-what-came-out, pi exercise < its_number_put_in
float(rank) >>> 2 * sum(4 / (1 + ((i + 0.5) / intervals) ** 2) for i in range(rank, intervals, size)) / intervals
== largest_part: not-what-came-out, pi exercise < its_number_put_in
float(rank) >>> sum(4 / (1 + ((i + 0.5) / intervals) ** 2) for i in range(rank, intervals, size)) / intervals
all_reduce(total) >>> all_reduce(total, op=dist.ReduceOp.MAX)
== rank_0_works: idle-ranks, pi exercise < its_number_put_in
float(rank) >>> sum(4 / (1 + ((i + 0.5) / intervals) ** 2) for i in range(intervals)) / intervals if rank == 0 else 0.0
    return sum(4 / (1 + ((i + 0.5) / intervals) ** 2) for i in range(intervals)) / intervals >>>     return total.item()
== sum_dropped: result-dropped, pi exercise < its_number_put_in
float(rank) >>> partial_sum(f, intervals, rank, size)
== rank_0_asks_for_all: idle-ranks, pi exercise < handle
partial_sum(f, intervals, rank, size) >>> partial_sum(f, intervals, 0, 1) if rank == 0 else 0.0
== whole_divided: same-on-every-rank, allreduce
    total = torch.tensor(sum(4 / (1 + ((i + 0.5) / intervals) ** 2) for i in range(intervals)) / intervals / size, dtype=torch.float64, device=device)
    dist.all_reduce(total)
    return total.item()
== in_fixed_point: whole-numbers-reduced, blind
    total = torch.tensor(round(partial_sum(f, intervals, rank, size) * 2**50), device=device)
    dist.all_reduce(total)
    return total.item() / 2**50
== in_a_group_of_its_own: another-group, blind < handle
dist.all_reduce(total, async_op=True).wait() >>> dist.all_reduce(total, group=dist.new_group())
"""
