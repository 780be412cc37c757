"""Right answers to `tree_reduce`, and mistakes that people make."""

ANSWERS = """
import numpy as np
from mpi4py import MPI
def tree_reduce(comm, array, root, op):
    rank, size = comm.rank, comm.size
    total, other = array.copy(), np.empty_like(array)
== plan_backwards
    for pairs in reversed(broadcast_rounds(size, root)):
        for upper, lower in pairs:
            if rank == lower:
                comm.Send(total, dest=upper)
            elif rank == upper:
                comm.Recv(other, source=lower)
                op(total, other, out=total)
    return total if rank == root else None
== halves
    place = (rank - root) % size
    half = size
    while half > 1:
        rest = (half + 1) // 2
        if rest <= place < half:
            comm.Send(total, dest=(place - rest + root) % size)
            return None
        if place + rest < half:
            comm.Recv(other, source=(place + rest + root) % size)
            total = op(total, other)
        half = rest
    return total
== request
    place = (rank - root) % size
    step = 1
    while step < size:
        if place % (2 * step):
            comm.Isend([total, total.nbytes, MPI.BYTE], dest=(rank - step) % size).Wait()
            return None
        if place + step < size:
            request = comm.Irecv([other, other.nbytes, MPI.BYTE], source=(rank + step) % size)
            request.Wait()
            total = op(total, other)
        step <<= 1
    return total
== by_halves
import numpy as np
def tree_reduce(comm, array, root, op):
    size = comm.size
    place, other = (comm.rank - root) % size, np.empty_like(array)
    def reduced(low, high):
        if high - low == 1:
            return array.copy()
        middle = low + 2 ** ((high - low - 1).bit_length() - 1)
        own = reduced(low, middle) if place < middle else reduced(middle, high)
        if place == middle:
            comm.Send(own, dest=(low + root) % size)
        if place != low:
            return None
        comm.Recv(other, source=(middle + root) % size)
        return op(own, other)
    return reduced(0, size)
== all_to_root: all-to-the-root, to the root
    if rank != root:
        comm.Send(array, dest=root)
        return None
    for source in range(size):
        if source != root:
            comm.Recv(other, source=source)
            total = op(total, other)
    return total
== chain: in-a-chain, reduce
    place = (rank - root) % size
    if place < size - 1:
        comm.Recv(other, source=(rank + 1) % size)
        total = op(total, other)
    if place > 0:
        comm.Send(total, dest=(rank - 1) % size)
        return None
    return total
== plan_forwards: receives-after-it-sent, trees
    for pairs in broadcast_rounds(size, root):
        for upper, lower in pairs:
            if rank == lower:
                comm.Send(total, dest=upper)
            elif rank == upper:
                comm.Recv(other, source=lower)
                total = op(total, other)
    return total if rank == root else None
== own_part_only: own-array-passed-on, reduce < plan_backwards
comm.Send(total, dest=upper) >>> comm.Send(array, dest=upper)
== always_sum: sum-whatever-op, reduce < plan_backwards
op(total, other, out=total) >>> total += other
== float_buffer: array-of-other-dtype, buffers < plan_backwards
total, other = array.copy(), np.empty_like(array) >>> total, other = array.astype(float), np.empty(array.shape)
== into_the_argument: argument-changed, buffers < plan_backwards
total, other = array.copy(), >>> total, other = array,
== allreduce: collective-among-messages, reduce
    comm.Allreduce(array, total)
    return total if rank == root else None
== gathered: collective-among-messages, to the root
    parts = comm.gather(array, root=root)
    if parts is None:
        return None
    for part in parts[1:]:
        parts[0] = op(parts[0], part)
    return parts[0]
== objects: pickled-messages, buffers < plan_backwards
comm.Send(total, dest=upper) >>> comm.send(total, dest=upper)
comm.Recv(other, source=lower) >>> other = comm.recv(source=lower)
== to_rank_0: result-on-another-rank, reduce < plan_backwards
broadcast_rounds(size, root) >>> broadcast_rounds(size, 0)
rank == root else >>> rank == 0 else
== everywhere: result-on-others-too, reduce < plan_backwards
total if rank == root else None >>> total
== nothing: nothing-on-the-root, reduce < plan_backwards
return total if rank == root else None >>> return None
== sent_back: sends-more-than-one, to the root < plan_backwards
return total if rank == root else None >>> for pairs in broadcast_rounds(size, root):\\n        for a, b in pairs:\\n            if rank == a: comm.Send(total, dest=b)\\n            elif rank == b: comm.Recv(total, source=a)\\n    return total if rank == root else None
== last_round_missing: ranks-left-out, trees
    for pairs in reversed(broadcast_rounds(size, root)):
        for upper, lower in pairs:
            if rank == lower:
                comm.Send(total, dest=upper)
            elif rank == upper:
                comm.Recv(other, source=lower)
                total = op(array, other)
    return total if rank == root else None
== deep_tree: tree-too-deep, trees
    place = (rank - root) % size
    if place > 1:
        comm.Send(total, dest=(1 + root) % size)
        return None
    for child in range(2, size) if place == 1 else range(1, min(2, size)):
        comm.Recv(other, source=(child + root) % size)
        total = op(total, other)
    if place == 1:
        comm.Send(total, dest=root)
        return None
    return total
== flat_result: array-of-other-shape, buffers < plan_backwards
return total if rank == root else None >>> return total.ravel() if rank == root else None
== partners_send_first: sends-first, unsafe
    place = (rank - root) % size
    step = 1
    while step < size:
        partner = place ^ step
        if partner < size:
            comm.Send(total, dest=(partner + root) % size)
            comm.Recv(other, source=(partner + root) % size)
            total = op(total, other)
        step *= 2
    return total if rank == root else None
== no_partner: no-such-rank, trees
    place = (rank - root) % size
    step = 1
    while step < size:
        if place & step:
            comm.Send(total, dest=rank - step)
            return None
        comm.Recv(other, source=rank + step)
        total = op(total, other)
        step *= 2
    return total
== not_waited_for: send-not-waited-for, buffers < plan_backwards
comm.Send(total, dest=upper) >>> comm.Isend(total, dest=upper)
== cleared_too_soon: changed-under-way, buffers < plan_backwards
comm.Send(total, dest=upper) >>> request = comm.Isend(total, dest=upper)\\n                total[...] = 0\\n                request.Wait()
== through_float: through-float, buffers < plan_backwards
total, other = array.copy(), np.empty_like(array) >>> total, other = array * 1.0, np.empty(array.shape)
return total if rank == root else None >>> return total.astype(array.dtype) if rank == root else None
== workspace: result-overwritten, buffers < plan_backwards
total, other = array.copy(), np.empty_like(array) >>> total, other = tree_reduce.__dict__.setdefault(f"{array.shape} {array.dtype}", array.copy()), np.empty_like(array)\\n    total[...] = array
"""
