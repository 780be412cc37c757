"""Right answers to `ring_reduce_scatter`, and mistakes that people make."""

ANSWERS = """
import numpy as np
from mpi4py import MPI
def ring_reduce_scatter(comm, array):
    rank, size = comm.rank, comm.size
    after, before = (rank + 1) % size, (rank - 1) % size
    chunks = [np.array(chunk) for chunk in np.array_split(array, size)]
== requests
    for step in range(1, size):
        summed = chunks[(rank - step - 1) % size]
        came = np.empty_like(summed)
        request = comm.Irecv(came, source=before)
        comm.Send(chunks[(rank - step) % size], dest=after)
        request.Wait()
        summed += came
    return chunks[rank]
== isend_first
    own = chunks[before]
    for step in range(2, size + 1):
        request = comm.Isend(own, dest=after)
        came = np.empty_like(chunks[(rank - step) % size])
        comm.Recv(came, source=before)
        request.Wait()
        own = came + chunks[(rank - step) % size]
    return own
== replaced
    bounds = np.cumsum([0, *map(len, chunks)])
    parts = [array[begin:end] for begin, end in zip(bounds, bounds[1:])]
    moving = parts[(rank - 1) % size].copy()
    for step in range(2, size + 1):
        arriving = np.empty_like(parts[(rank - step) % size])
        comm.Sendrecv([moving, moving.size, MPI._typedict[array.dtype.char]], after, 3, arriving, before, 3)
        moving = arriving + parts[(rank - step) % size]
    return moving
== whole_arrays: whole-arrays-go-round, whole arrays
    total, moving = array.copy(), array.copy()
    for _ in range(size - 1):
        came = np.empty_like(moving)
        comm.Sendrecv(moving, after, recvbuf=came, source=before)
        total += came
        moving = came
    return np.array_split(total, size)[rank].copy()
== all_send_first: sends-first, unsafe
    for step in range(1, size):
        summed = chunks[(rank - step - 1) % size]
        came = np.empty_like(summed)
        comm.Send(chunks[(rank - step) % size], dest=after)
        comm.Recv(came, source=before)
        summed += came
    return chunks[rank]
== all_receive_first: never-sent, unsafe
    for step in range(1, size):
        summed = chunks[(rank - step - 1) % size]
        came = np.empty_like(summed)
        comm.Recv(came, source=before)
        comm.Send(chunks[(rank - step) % size], dest=after)
        summed += came
    return chunks[rank]
== even_odd: in-turns, ring
    for step in range(1, size):
        summed = chunks[(rank - step - 1) % size]
        came = np.empty_like(summed)
        if rank % 2 == 0:
            comm.Send(chunks[(rank - step) % size], dest=after)
            comm.Recv(came, source=before)
        else:
            comm.Recv(came, source=before)
            comm.Send(chunks[(rank - step) % size], dest=after)
        summed += came
    return chunks[rank]
== each_to_each: each-to-each, to the root
    total = chunks[rank].copy()
    requests = [comm.Isend(chunks[other], dest=other) for other in range(size) if other != rank]
    for other in range(size):
        if other != rank:
            came = np.empty_like(total)
            comm.Recv(came, source=other)
            total += came
    MPI.Request.Waitall(requests)
    return total
== as_in_drawings: chunk-of-another-rank, ring
    for step in range(size - 1):
        summed = chunks[(rank - step - 1) % size]
        came = np.empty_like(summed)
        comm.Sendrecv(chunks[(rank - step) % size], after, recvbuf=came, source=before)
        summed += came
    return chunks[(rank + 1) % size]
== rest_lost: rest-left-out, rest < requests
chunks = [np.array(chunk) for chunk in np.array_split(array, size)] >>> k = len(array) // size; chunks = [array[i * k : (i + 1) * k].copy() for i in range(size)]
== rest_on_the_last: rest-left-out, rest < requests
chunks = [np.array(chunk) for chunk in np.array_split(array, size)] >>> k = len(array) // size; chunks = [array[i * k : (i + 1) * k if i < size - 1 else None].copy() for i in range(size)]
== own_passed_on: summands-of-the-chunk, ring
    parts = [chunk.copy() for chunk in chunks]
    for step in range(1, size):
        summed = chunks[(rank - step - 1) % size]
        came = np.empty_like(summed)
        comm.Sendrecv(parts[(rank - step) % size], after, recvbuf=came, source=before)
        summed += came
    return chunks[rank]
== a_step_short: own-chunk-returned, ring
    for step in range(1, size - 1):
        summed = chunks[(rank - step - 1) % size]
        came = np.empty_like(summed)
        comm.Sendrecv(chunks[(rank - step) % size], after, recvbuf=came, source=before)
        summed += came
    return chunks[rank]
== one_buffer: changed-under-way, buffers
    moving, came = np.empty((2, len(array) // size + 1), array.dtype)
    n = len(chunks[before])
    moving[:n] = chunks[before]
    for step in range(2, size + 1):
        request = comm.Isend(moving[:n], dest=after)
        n = len(chunks[(rank - step) % size])
        comm.Recv(came[:n], source=before)
        moving[:n] = came[:n] + chunks[(rank - step) % size]
        request.Wait()
    return moving[:n].copy()
== in_views: argument-changed, views < requests
chunks = [np.array(chunk) for chunk in np.array_split(array, size)] >>> chunks = np.array_split(array, size)
== other_way: ring-turned-round, ring
    for step in range(1, size):
        summed = chunks[(rank + step + 1) % size]
        came = np.empty_like(summed)
        comm.Sendrecv(chunks[(rank + step) % size], before, recvbuf=came, source=after)
        summed += came
    return chunks[rank]
== the_library: collective-among-messages, ring
    total = np.empty_like(array)
    comm.Allreduce(array, total)
    return np.array_split(total, size)[rank].copy()
== objects: pickled-messages, buffers
    for step in range(1, size):
        came = comm.sendrecv(chunks[(rank - step) % size], dest=after, source=before)
        chunks[(rank - step - 1) % size] += came
    return chunks[rank]
== all_of_the_sum: whole-sum-returned, whole arrays
    total, moving = array.copy(), array.copy()
    for _ in range(size - 1):
        came = np.empty_like(moving)
        comm.Sendrecv(moving, after, recvbuf=came, source=before)
        total += came
        moving = came
    return total
== nothing_added: own-chunk-returned, ring
    for step in range(1, size):
        came = np.empty_like(chunks[(rank - step - 1) % size])
        comm.Sendrecv(chunks[(rank - step) % size], after, recvbuf=came, source=before)
    return chunks[rank]
== largest_of_all: wrong-entry, ring
    for step in range(1, size):
        came = np.empty_like(chunks[(rank - step - 1) % size])
        comm.Sendrecv(chunks[(rank - step) % size], after, recvbuf=came, source=before)
        chunks[(rank - step - 1) % size] = np.maximum(came, chunks[(rank - step - 1) % size])
    return chunks[rank]
== by_rank_0: through-one-rank, to the root
    if rank:
        comm.Send(array, dest=0)
        own = np.empty_like(chunks[rank])
        comm.Recv(own, source=0)
        return own
    total = array.copy()
    for other in range(1, size):
        came = np.empty_like(array)
        comm.Recv(came, source=other)
        total += came
    parts = np.array_split(total, size)
    for other in range(1, size):
        comm.Send(parts[other], dest=other)
    return parts[0].copy()
== once_more: a-round-too-many, ring < requests
return chunks[rank] >>> came = np.empty_like(chunks[before]); comm.Sendrecv(chunks[rank], after, recvbuf=came, source=before)\\n    return chunks[rank]
== float_buffer: array-of-other-dtype, buffers < requests
np.array(chunk) for >>> np.array(chunk, dtype=float) for
== short_buffer: buffer-too-short, rest < requests
came = np.empty_like(summed) >>> came = np.empty(len(array) // size, array.dtype)
== returned_nothing: returns-no-array, ring < requests
return chunks[rank] >>> return None
== through_float: through-float, buffers < requests
np.array(chunk) for >>> np.array(chunk, dtype=float) for
return chunks[rank] >>> return chunks[rank].astype(array.dtype)
== workspace: result-overwritten, views < requests
return chunks[rank] >>> kept = ring_reduce_scatter.__dict__.setdefault(f"{array.shape} {array.dtype}", chunks[rank])\\n    kept[:] = chunks[rank]\\n    return kept
"""
