"""Right answers to `ring_allreduce`, and mistakes that people make."""

ANSWERS = """
import numpy as np
from mpi4py import MPI
def ring_allreduce(comm, array):
    rank, size = comm.rank, comm.size
    after, before = (rank + 1) % size, (rank - 1) % size
== own_ring
    flat = array.flatten()
    chunks = np.array_split(flat, size)
    for step in range(size - 1):
        into = chunks[(rank - step - 1) % size]
        came = np.empty_like(into)
        comm.Sendrecv(chunks[(rank - step) % size], after, recvbuf=came, source=before)
        into += came
    for step in range(size - 1):
        comm.Sendrecv(chunks[(rank - step + 1) % size], after, recvbuf=chunks[(rank - step) % size], source=before)
    return flat.reshape(array.shape)
== fortran_order
def ring_allreduce(comm, array):
    flat, size = array.flatten(order="F"), comm.size
    own = ring_reduce_scatter(comm, flat)
    lengths = [len(flat) // size + (other < len(flat) % size) for other in range(size)]
    return ring_all_gather(comm, own, lengths).reshape(array.shape, order="F")
== in_a_new_array
import numpy as np
def ring_allreduce(comm, array):
    result, size = np.empty(array.shape, array.dtype), comm.size
    bounds = [min(rank, array.size % size) + rank * (array.size // size) for rank in range(size + 1)]
    lengths = [end - begin for begin, end in zip(bounds, bounds[1:])]
    result.reshape(-1)[:] = ring_all_gather(comm, ring_reduce_scatter(comm, np.ravel(array)), lengths)
    return result
== whole_arrays: bits-differ-by-rank, whole arrays
    total = np.array(array, order="C")
    moving = total.copy()
    for _ in range(size - 1):
        came = np.empty_like(moving)
        comm.Sendrecv(moving, after, recvbuf=came, source=before)
        total = np.asarray(total + came)
        moving = came
    return total
== whole_in_one_order: whole-arrays-go-round, whole arrays
    parts, moving = {rank: np.array(array, order="C")}, np.array(array, order="C")
    for step in range(1, size):
        came = np.empty_like(moving)
        comm.Sendrecv(moving, after, recvbuf=came, source=before)
        moving = parts[(rank - step) % size] = came
    return np.asarray(sum(parts[other] for other in range(size)), dtype=array.dtype)
== rows: rows-cut, views
    if array.ndim == 0:
        return rows_of(comm, array.reshape(1)).reshape(())
    return rows_of(comm, array)
def rows_of(comm, array):
    chunks = [np.array(part, order="C") for part in np.array_split(array, comm.size)]
    rank, size = comm.rank, comm.size
    after, before = (rank + 1) % size, (rank - 1) % size
    for step in range(size - 1):
        came = np.empty_like(chunks[(rank - step - 1) % size])
        comm.Sendrecv(chunks[(rank - step) % size], after, recvbuf=came, source=before)
        chunks[(rank - step - 1) % size] += came
    for step in range(size - 1):
        comm.Sendrecv(chunks[(rank - step + 1) % size], after, recvbuf=chunks[(rank - step) % size], source=before)
    return np.concatenate(chunks)
== not_reshaped: array-of-other-shape, views < solution
.reshape(array.shape) >>>
== on_rank_0_only: not-on-all-ranks, one rank
    flat = np.array(array, order="C")
    if rank:
        comm.Send(flat, dest=0)
        return flat
    total = flat.copy()
    for other in range(1, size):
        came = np.empty_like(flat)
        comm.Recv(came, source=other)
        total += came
    return total
== by_rank_0: through-one-rank, to the root
    flat = np.array(array, order="C")
    total = flat.copy()
    if rank:
        comm.Send(flat, dest=0)
        comm.Recv(total, source=0)
        return total
    for other in range(1, size):
        came = np.empty_like(flat)
        comm.Recv(came, source=other)
        total += came
    for other in range(1, size):
        comm.Send(total, dest=other)
    return total
== averaged: average-over-ranks, ring < own_ring
return flat.reshape(array.shape) >>> return (flat / size).astype(array.dtype).reshape(array.shape)
== in_the_argument: argument-changed, views < own_ring
flat = array.flatten() >>> flat = array.ravel()
== nothing_reduced: own-array-returned, ring
    chunks = np.array_split(array.flatten(), size)
    total = ring_all_gather(comm, chunks[rank], [len(chunk) for chunk in chunks])
    return np.array(array, dtype=total.dtype)
== halves_only: array-of-other-shape, ring
    return ring_reduce_scatter(comm, array.ravel())
== sum_goes_round: summands-of-the-sum, whole arrays
    total = np.array(array, order="C")
    for _ in range(size - 1):
        came = np.empty_like(total)
        comm.Sendrecv(total, after, recvbuf=came, source=before)
        total += came
    return total
== not_added: wrong-entry, ring < own_ring
into += came >>> into[...] = came
== the_library: collective-among-messages, ring
    total = np.empty(array.shape, array.dtype)
    comm.Allreduce(np.array(array, order="C"), total)
    return total
== float_buffers: array-of-other-dtype, buffers < own_ring
flat = array.flatten() >>> flat = array.flatten().astype(float)
== all_send_first: sends-first, unsafe < own_ring
-        comm.Sendrecv(chunks[(rank - step) % size], after, recvbuf=came, source=before)
+        comm.Send(chunks[(rank - step) % size], dest=after)
+        comm.Recv(came, source=before)
== even_odd: in-turns, ring < own_ring
-        comm.Sendrecv(chunks[(rank - step) % size], after, recvbuf=came, source=before)
+        if rank % 2:
+            comm.Recv(came, source=before)
+            comm.Send(chunks[(rank - step) % size], dest=after)
+        else:
+            comm.Send(chunks[(rank - step) % size], dest=after)
+            comm.Recv(came, source=before)
== once_round_more: a-round-too-many, ring < own_ring
-    for step in range(size - 1):
-        comm.Sendrecv(chunks[(rank - step + 1) % size], after, recvbuf=chunks[(rank - step) % size], source=before)
+    for step in range(size):
+        comm.Sendrecv(chunks[(rank - step + 1) % size], after, recvbuf=chunks[(rank - step) % size], source=before)
== each_to_each: each-to-each, to the root
    flat = np.array(array, order="C")
    came = [np.empty_like(flat) for _ in range(size)]
    requests = [comm.Isend(flat, dest=other) for other in range(size) if other != rank]
    requests += [comm.Irecv(came[other], source=other) for other in range(size) if other != rank]
    MPI.Request.Waitall(requests)
    came[rank] = flat
    return np.asarray(sum(came), dtype=array.dtype)
== returned_nothing: returns-no-array, views < own_ring
return flat.reshape(array.shape) >>> return None
== as_they_lie: entries-out-of-place, views
    flat = array.ravel(order="K")
    lengths = [len(part) for part in np.array_split(flat, comm.size)]
    return ring_all_gather(comm, ring_reduce_scatter(comm, flat), lengths).reshape(array.shape)
== through_float: through-float, buffers < own_ring
flat = array.flatten() >>> flat = array.flatten().astype(float)
return flat.reshape(array.shape) >>> return flat.reshape(array.shape).astype(array.dtype)
== doubles_on_the_way: twice-the-bytes, buffers < own_ring
flat = array.flatten() >>> flat = array.flatten().astype(float if array.dtype.kind == "f" else array.dtype)
return flat.reshape(array.shape) >>> return flat.reshape(array.shape).astype(array.dtype)
== workspace: result-overwritten, views < own_ring
flat = array.flatten() >>> flat = ring_allreduce.__dict__.setdefault(f"{array.shape} {array.dtype}", array.flatten())\\n    flat[:] = array.flatten()
== equal_lengths: raised, rest < solution
[len(chunk) for chunk in np.array_split(flat, comm.size)] >>> [len(flat) // comm.size] * comm.size
"""
