"""Right answers to `chain`, and mistakes that people make."""

ANSWERS = r"""
import numpy as np
from mpi4py import MPI
def chain(comm, multiply, left, right):
    rank, size, even = comm.rank, comm.size, comm.rank % 2 == 0
    group = comm.Split(rank % 2, rank)
    evens, odds = range(0, size, 2), range(1, size, 2)
== messages
    rows = multiply(np.array_split(left, group.size)[group.rank], right)
    if not even:
        for other in evens:
            comm.send(rows, dest=other)
        return None
    rows = multiply(rows, np.concatenate([comm.recv(source=other) for other in odds]))
    if rank:
        comm.send(rows, dest=0)
        return None
    return np.concatenate([rows, *(comm.recv(source=other) for other in evens[1:])])
== leaders_gather_g
    rows = multiply(np.array_split(left, group.size)[group.rank], right)
    parts = [comm.bcast(rows if rank == root else None, root=root) for root in odds]
    if not even:
        return None
    parts = group.gather(multiply(rows, np.vstack(parts)))
    return np.vstack(parts) if rank == 0 else None
== receives_posted_early
    requests = [comm.irecv(1 << 20, source=other) for other in odds] if even else []
    rows = multiply(np.array_split(left, group.size)[group.rank], right)
    if not even:
        for request in [comm.isend(rows, dest=other) for other in evens]:
            request.wait()
        return None
    rows = multiply(rows, np.vstack([request.wait() for request in requests]))
    parts = group.gather(rows)
    return None if parts is None else np.vstack(parts)
== whole_rows_one_by_one
    begin, end = (len(left) * (group.rank + each) // group.size for each in (0, 1))
    own = [multiply(left[i : i + 1], right) for i in range(begin, end)]
    parts = comm.allgather([] if even else own)
    if even:
        d = np.vstack([row for part in parts for row in part])
        own = [multiply(row, d) for row in own]
    parts = comm.gather(own if even else [])
    return None if parts is None else np.vstack([row for part in parts for row in part])
== rows_dealt_in_turn
    rows = multiply(left[rank // 2 :: group.size], right)
    parts = comm.allgather(None if even else rows)[1::2]
    if even:
        d = np.empty((right.shape[1], parts[0].shape[1]))
        for number, part in enumerate(parts):
            d[number :: len(odds)] = part
        rows = multiply(rows, d)
    parts = comm.gather(rows if even else None)
    if parts is None:
        return None
    product = np.empty((len(left), rows.shape[1]))
    for number, part in enumerate(parts[::2]):
        product[number :: len(evens)] = part
    return product
== waits_for_d: waited-for-the-others, matrices
    rows = None if even else multiply(np.array_split(left, group.size)[group.rank], right)
    d = np.vstack([part for part in comm.allgather(rows) if part is not None])
    parts = None
    if even:
        parts = group.gather(multiply(multiply(np.array_split(left, group.size)[group.rank], right), d))
    return None if parts is None else np.vstack(parts)
== receives_first: waited-for-the-others, matrices
    if not even:
        rows = multiply(np.array_split(left, group.size)[group.rank], right)
        for other in evens:
            comm.send(rows, dest=other)
        return None
    d = np.vstack([comm.recv(source=other) for other in odds])
    rows = multiply(np.array_split(left, group.size)[group.rank], right)
    parts = group.gather(multiply(rows, d))
    return None if parts is None else np.vstack(parts)
== rank_0_alone: too-much-work, matrices
    rows = multiply(np.array_split(left, group.size)[group.rank], right)
    parts = comm.gather(rows)
    if rank:
        return None
    return multiply(np.vstack(parts[::2]), np.vstack(parts[1::2]))
== whole_products: too-much-work, matrices
    whole = multiply(left, right)
    parts = comm.allgather(None if even else np.array_split(whole, group.size)[group.rank])
    if not even:
        return None
    rows = np.array_split(whole, group.size)[group.rank]
    parts = group.gather(multiply(rows, np.vstack([part for part in parts if part is not None])))
    return None if parts is None else np.vstack(parts)
== whole_d_sent: too-much-sent, matrices
    rows = multiply(np.array_split(left, group.size)[group.rank], right)
    parts = None if even else group.gather(rows)
    d = comm.bcast(np.vstack(parts) if rank == 1 else None, root=1)
    parts = group.gather(multiply(rows, d)) if even else None
    return None if parts is None else np.vstack(parts)
== left_moves: too-much-sent, matrices
    whole = group.bcast(left)
    rows = multiply(np.array_split(whole, group.size)[group.rank], right)
    parts = comm.allgather(None if even else rows)
    if not even:
        return None
    parts = group.gather(multiply(rows, np.vstack([part for part in parts if part is not None])))
    return None if parts is None else np.vstack(parts)
== parts_in_the_wrong_order: wrong-entry, matrices < leaders_gather_g
np.vstack(parts)) >>> np.vstack(parts[::-1]))
== rows_left_out: factors-do-not-fit, uneven
    few = len(left) // size
    rows = multiply(left[few * rank : few * (rank + 1)], right)
    parts = comm.allgather(None if even else rows)
    if not even:
        return None
    parts = group.gather(multiply(rows, np.vstack([part for part in parts if part is not None])))
    return None if parts is None else np.vstack(parts)
== gather_of_comm_by_even_ranks: call-missing, matrices
    rows = multiply(np.array_split(left, group.size)[group.rank], right)
    parts = comm.allgather(None if even else rows)
    if not even:
        return None
    parts = comm.gather(multiply(rows, np.vstack([part for part in parts if part is not None])))
    return None if parts is None else np.vstack(parts)
== by_numpy: not-by-multiply, matrices < leaders_gather_g
multiply(rows, np.vstack(parts)) >>> rows @ np.vstack(parts)
== on_all_ranks: product-elsewhere, matrices < leaders_gather_g
parts = group.gather( >>> parts = group.allgather(
 if rank == 0 else None >>>
== own_rows_only: array-of-other-shape, matrices
    rows = multiply(np.array_split(left, group.size)[group.rank], right)
    parts = comm.allgather(None if even else rows)
    if not even:
        return None
    return multiply(rows, np.vstack([part for part in parts if part is not None])) if rank == 0 else None
== nothing_returned: returns-no-array, matrices < leaders_gather_g
return np.vstack(parts) if rank == 0 else None >>> return None
== changes_left: argument-changed, matrices < leaders_gather_g
rows = multiply(np.array_split(left, group.size)[group.rank], right) >>> left *= 2\n    rows = multiply(np.array_split(left, group.size)[group.rank], right)
return np.vstack(parts) if rank == 0 else None >>> return np.vstack(parts) / 4 if rank == 0 else None
== strides_as_blocks: rows-in-another-order, matrices
    evens, odds = len(evens), len(odds)
    part = multiply(left[rank // 2 :: evens if even else odds], right)
    pieces = comm.allgather(None if even else part)
    rows = multiply(part, np.concatenate([each for each in pieces if each is not None])) if even else None
    gathered = comm.gather(rows, root=0)
    return np.concatenate([each for each in gathered if each is not None]) if rank == 0 else None
"""
