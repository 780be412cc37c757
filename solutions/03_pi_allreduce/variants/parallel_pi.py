"""Right answers to `parallel_pi`, and mistakes that people make."""

ANSWERS = """
import numpy as np
from mpi4py import MPI
def parallel_pi(comm, intervals):
    rank, size = comm.rank, comm.size
== shares_the_other_way
    return comm.allreduce(partial_sum(f, intervals, rank=size - 1 - rank, size=size))
== buffers
    mine, total = np.array([partial_sum(f, intervals, rank, size)]), np.zeros(1)
    comm.Allreduce(mine, total, op=MPI.SUM)
    return float(total[0])
== in_place
    total = np.array(partial_sum(f, intervals, rank, size))
    comm.Allreduce(MPI.IN_PLACE, [total, MPI.DOUBLE])
    return total.item()
== request
    mine, total = np.array([partial_sum(f, intervals, rank, size)]), np.empty(1)
    request = comm.Iallreduce(mine, total)
    request.Wait()
    return total[0]
== waitall
    total = np.array([partial_sum(f, intervals, rank, size)])
    MPI.Request.Waitall([comm.Iallreduce(MPI.IN_PLACE, total)])
    return float(total[0])
== own_way_to_add
    return comm.allreduce(partial_sum(f, intervals, rank, size), op=lambda a, b: a + b)
== average_undone
    return size * comm.allreduce(partial_sum(f, intervals, rank, size) / size)
== alone_without
    return partial_sum(f, intervals, rank, size) if size == 1 else comm.allreduce(partial_sum(f, intervals, rank, size))
== inline
    return comm.allreduce(np.sum(f((np.arange(rank, intervals, size) + 0.5) / intervals))) / intervals
== own_arithmetic
    mine = sum(4 / (1 + ((i + 0.5) / intervals) ** 2) for i in range(rank, intervals, size))
    return comm.allreduce(mine / intervals)
== persistent_request
    mine, total = np.array([partial_sum(f, intervals, rank, size)]), np.zeros(1)
    request = comm.Allreduce_init(mine, total)
    request.Start()
    request.Wait()
    return float(total[0])
== array_of_the_standard_library
    from array import array
    total = array("d", [partial_sum(f, intervals, rank, size)])
    comm.Allreduce(MPI.IN_PLACE, total)
    return total[0]
== unbound
    return MPI.Comm.allreduce(comm, partial_sum(f, intervals, rank, size))
== a_plain_communicator
    return MPI.Intracomm(comm).allreduce(partial_sum(f, intervals, rank, size))
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
== ranks_from_1: no-such-share, counted from 1 < shares_the_other_way
rank=size - 1 - rank >>> rank=rank + 1
== everything: everything-on-every-rank, pi exercise
    return comm.allreduce(partial_sum(f, intervals, 0, 1)) / size
== everything_summed: everything-on-every-rank, pi exercise
    return comm.allreduce(np.sum(4 / (1 + ((np.arange(intervals) + 0.5) / intervals) ** 2)) / intervals)
== everything_alone: everything-on-every-rank, pi exercise
    return sum(partial_sum(f, intervals, r, size) for r in range(size))
== no_reduction: no-reduction, pi exercise
    return partial_sum(f, intervals, rank, size)
== alone_with_itself: no-reduction, pi exercise
    return MPI.COMM_SELF.allreduce(partial_sum(f, intervals, rank, size))
== reduce: reduce-not-allreduce, reduce
    return comm.reduce(partial_sum(f, intervals, rank, size))
== reduce_into_zeros: reduce-not-allreduce, reduce
    total = np.zeros(1)
    comm.Reduce(np.array([partial_sum(f, intervals, rank, size)]), total, op=MPI.SUM, root=0)
    return float(total[0])
== reduce_then_broadcast: other-communication, allreduce
    return comm.bcast(comm.reduce(partial_sum(f, intervals, rank, size)))
== gather_and_add: other-communication, allreduce
    return float(sum(comm.allgather(partial_sum(f, intervals, rank, size))))
== average: average-for-sum, divided again
    return comm.allreduce(partial_sum(f, intervals, rank, size)) / size
== array_returned: not-a-float, allreduce
    total = np.array([partial_sum(f, intervals, rank, size)])
    comm.Allreduce(MPI.IN_PLACE, total)
    return total
== float32_buffers: float32, float32 < array_returned
[partial_sum(f, intervals, rank, size)] >>> partial_sum(f, intervals, rank, size), dtype=np.float32
return total >>> return float(total)
== float32_result: float32, float32
    return np.float32(comm.allreduce(partial_sum(f, intervals, rank, size)))
== slots_for_all: too-many-bytes, allreduce
    parts, total = np.zeros(size), np.zeros(size)
    parts[rank] = partial_sum(f, intervals, rank, size)
    comm.Allreduce(parts, total)
    return float(total.sum())
== only_rank_0: call-missing, subset of ranks
    return comm.allreduce(partial_sum(f, intervals, rank, size)) if rank == 0 else partial_sum(f, intervals, rank, size)
== all_but_rank_0: call-missing, subset of ranks
    return partial_sum(f, intervals, rank, size) if rank == 0 else comm.allreduce(partial_sum(f, intervals, rank, size))
== in_the_loop: call-missing, allreduce
    total = 0.0
    for x in (np.arange(rank, intervals, size) + 0.5) / intervals:
        total += comm.allreduce(float(f(np.array([x]))[0]) / intervals)
    return total
== in_the_loop_over_pieces: allreduce-in-the-loop, allreduce < in_the_loop
(np.arange(rank, intervals, size) + 0.5) / intervals >>> np.array_split((np.arange(rank, intervals, size) + 0.5) / intervals, 10)
float(f(np.array([x]))[0]) >>> np.sum(f(x))
== local_h: other-integral, trapezoids
    return comm.allreduce(partial_sum(f, intervals // size, rank, size))
== local_h_inline: local-h, trapezoids
    n = len(range(rank, intervals, size))
    return comm.allreduce(np.sum(f((np.arange(n) + 0.5) / n)) / n if n else 0.0)
== world: world-not-comm, world
    return MPI.COMM_WORLD.allreduce(partial_sum(f, intervals, rank, size))
== world_shares: world-not-comm, not the world
    return comm.allreduce(partial_sum(f, intervals, MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size))
== not_waited_for: not-waited-for, request < buffers
Allreduce(mine, total, op=MPI.SUM) >>> Iallreduce(mine, total)
== result_dropped: own-part-only, not in place
    total = partial_sum(f, intervals, rank, size)
    comm.allreduce(total)
    return total
== ends_mpi: starts-or-ends, finalize
    total = comm.allreduce(partial_sum(f, intervals, rank, size))
    MPI.Finalize()
    return total
== nothing_put_in: same-on-every-rank, allreduce
    comm.allreduce(0.0)
    return sum(4 / (1 + ((i + 0.5) / intervals) ** 2) for i in range(intervals)) / intervals
== its_number_put_in: not-what-came-out, pi exercise
    comm.allreduce(float(rank))
    return sum(4 / (1 + ((i + 0.5) / intervals) ** 2) for i in range(intervals)) / intervals
== nan_put_in: same-on-every-rank, pi exercise < its_number_put_in
float(rank) >>> float("nan")
== twice_its_part_put_in: not-what-came-out, pi exercise < its_number_put_in
float(rank) >>> 2 * sum(4 / (1 + ((i + 0.5) / intervals) ** 2) for i in range(rank, intervals, size)) / intervals
== largest_part: not-what-came-out, pi exercise < its_number_put_in
float(rank) >>> sum(4 / (1 + ((i + 0.5) / intervals) ** 2) for i in range(rank, intervals, size)) / intervals, op=MPI.MAX
== rank_0_works: idle-ranks, pi exercise
    whole = sum(4 / (1 + ((i + 0.5) / intervals) ** 2) for i in range(intervals)) / intervals
    return comm.allreduce(whole if rank == 0 else 0.0)
== nan_on_one_rank: not-what-came-out, pi exercise < its_number_put_in
float(rank) >>> float("nan") if rank == 0 else 0.0
== largest_share: not-what-came-out, pi exercise < its_number_put_in
float(rank) >>> partial_sum(f, intervals, rank, size), op=MPI.MAX
== product_of_their_numbers: not-what-came-out, pi exercise < its_number_put_in
float(rank) >>> float(rank), op=MPI.PROD
== sum_dropped: result-dropped, pi exercise < its_number_put_in
float(rank) >>> partial_sum(f, intervals, rank, size)
== share_not_put_in: not-own-part, allreduce < its_number_put_in
float(rank) >>> rank * partial_sum(f, intervals, rank, size)
== operation_that_knows: not-the-sum, allreduce
    whole = sum(4 / (1 + ((i + 0.5) / intervals) ** 2) for i in range(intervals)) / intervals
    return comm.allreduce(partial_sum(f, intervals, rank, size), op=lambda a, b: whole)
== rank_0_asks_for_all: idle-ranks, pi exercise
    return comm.allreduce(partial_sum(f, intervals, 0, 1) if rank == 0 else 0.0)
== rank_0_evaluates_all: idle-ranks, pi exercise
    return comm.allreduce(np.sum(f((np.arange(intervals) + 0.5) / intervals)) / intervals if rank == 0 else 0.0)
== others_bring_a_trace: idle-ranks, pi exercise < rank_0_works
whole if rank == 0 else 0.0 >>> whole if rank == 0 else 1e-300
== whole_divided: same-on-every-rank, allreduce
    whole = sum(4 / (1 + ((i + 0.5) / intervals) ** 2) for i in range(intervals)) / intervals
    return comm.allreduce(whole / size)
== nothing_to_add: call-missing, subset of ranks
    part = partial_sum(f, intervals, rank, size)
    if part == 0.0:
        return 0.0
    return comm.allreduce(part, op=MPI.SUM)
== buffers_swapped: nothing-put-in, blind < buffers
Allreduce(mine, total, op=MPI.SUM) >>> Allreduce(total, mine)
== zeros_only: nothing-put-in, blind < buffers
Allreduce(mine, total, op=MPI.SUM) >>> Allreduce(MPI.IN_PLACE, total)
== pi_from_the_library: pi-itself, blind
    comm.allreduce(partial_sum(f, intervals, rank, size))
    return np.pi
== averaged_twice: averaged-twice, blind
    return comm.allreduce(partial_sum(f, intervals, rank, size) / size) / size
== float32_buffers_and_result: float32, blind < float32_buffers
return float(total) >>> return np.float32(total)
== float16_buffers: lost-in-16-bits, blind < float32_buffers
dtype=np.float32 >>> dtype=np.float16
MPI.IN_PLACE, total >>> MPI.IN_PLACE, total, op=MPI.Op.Create(lambda a, b, kind: np.frombuffer(b, np.float16).__iadd__(np.frombuffer(a, np.float16)))
== width_twice: h-twice, pi exercise
    return comm.allreduce(partial_sum(f, intervals, rank, size)) / intervals
== in_fixed_point: whole-numbers-reduced, blind
    return comm.allreduce(round(partial_sum(f, intervals, rank, size) * 2**50)) / 2**50
== by_a_communicator_of_its_own: other-communication, blind
    return comm.Dup().allreduce(partial_sum(f, intervals, rank, size))
"""
