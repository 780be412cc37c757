"""Right answers to `ring_all_gather`, and mistakes that people make."""

ANSWERS = """
import numpy as np
from mpi4py import MPI
def ring_all_gather(comm, chunk, lengths):
    rank, size = comm.rank, comm.size
    after, before = (rank + 1) % size, (rank - 1) % size
    chunks = [np.empty(length, chunk.dtype) for length in lengths]
    chunks[rank][:] = chunk
== separate
    for step in range(size - 1):
        request = comm.Isend(chunks[(rank - step) % size], dest=after)
        comm.Recv(chunks[(rank - step - 1) % size], source=before)
        request.Wait()
    return np.concatenate(chunks)
== all_receives_first
    requests = [comm.Irecv(chunks[(rank - step) % size], source=before, tag=step) for step in range(1, size)]
    for step in range(1, size):
        comm.Send(chunks[(rank - step + 1) % size], dest=after, tag=step)
        requests[step - 1].Wait()
    return np.concatenate(chunks)
== empty_left_out
    for step in range(size - 1):
        out, into = chunks[(rank - step) % size], chunks[(rank - step - 1) % size]
        requests = [comm.Isend(out, dest=after)] if len(out) else []
        requests += [comm.Irecv(into, source=before)] if len(into) else []
        MPI.Request.Waitall(requests)
    return np.concatenate(chunks)
== bounds
import numpy as np
def ring_all_gather(comm, chunk, lengths):
    rank, size = comm.rank, comm.size
    ends = [sum(lengths[: other + 1]) for other in range(size)]
    result = np.zeros(ends[-1], dtype=chunk.dtype)
    result[ends[rank] - lengths[rank] : ends[rank]] = chunk
    now = rank
    for _ in range(size - 1):
        new = (now - 1) % size
        came = np.empty(lengths[new], dtype=chunk.dtype)
        own = result[ends[now] - lengths[now] : ends[now]]
        comm.Sendrecv(own, (rank + 1) % size, recvbuf=came, source=(rank - 1) % size)
        result[ends[new] - lengths[new] : ends[new]] = came
        now = new
    return result
== own_each_time: own-chunk-sent-each-time, ring
    for step in range(size - 1):
        came = np.empty(max(lengths), chunk.dtype)
        comm.Sendrecv(chunk, after, recvbuf=came, source=before)
        place = (rank - step - 1) % size
        chunks[place] = came[: lengths[place]]
    return np.concatenate(chunks)
== received_into_what_is_sent: changed-under-way, buffers
    moving = np.empty(max(lengths), chunk.dtype)
    moving[: len(chunk)] = chunk
    for step in range(size - 1):
        into = chunks[(rank - step - 1) % size]
        request = comm.Isend(moving[: lengths[(rank - step) % size]], dest=after)
        comm.Recv(moving[: len(into)], source=before)
        request.Wait()
        into[:] = moving[: len(into)]
    return np.concatenate(chunks)
== arrival: order-of-arrival, ring
    parts, moving = [chunk], chunk
    for step in range(size - 1):
        came = np.empty(lengths[(rank - step - 1) % size], chunk.dtype)
        comm.Sendrecv(moving, after, recvbuf=came, source=before)
        parts.append(came)
        moving = came
    return np.concatenate(parts)
== arrival_own_last: order-of-arrival, ring
    parts, moving = [], chunk
    for step in range(size - 1):
        came = np.empty(lengths[(rank - step - 1) % size], chunk.dtype)
        comm.Sendrecv(moving, after, recvbuf=came, source=before)
        parts.append(came)
        moving = came
    return np.concatenate([*parts, chunk])
== a_step_too_far: a-round-too-many, ring
    for step in range(size):
        out, into = chunks[(rank - step) % size], chunks[(rank - step - 1) % size]
        comm.Sendrecv(out, after, recvbuf=into, source=before)
    return np.concatenate(chunks)
== a_step_short: wrong-entry, ring
    chunks = [np.zeros(length, chunk.dtype) for length in lengths]
    chunks[rank][:] = chunk
    for step in range(size - 2):
        out, into = chunks[(rank - step) % size], chunks[(rank - step - 1) % size]
        comm.Sendrecv(out, after, recvbuf=into, source=before)
    return np.concatenate(chunks)
== all_send_first: sends-first, unsafe
    for step in range(size - 1):
        comm.Send(chunks[(rank - step) % size], dest=after)
        comm.Recv(chunks[(rank - step - 1) % size], source=before)
    return np.concatenate(chunks)
== even_odd: in-turns, ring
    for step in range(size - 1):
        out, into = chunks[(rank - step) % size], chunks[(rank - step - 1) % size]
        if rank % 2:
            comm.Recv(into, source=before)
            comm.Send(out, dest=after)
        else:
            comm.Send(out, dest=after)
            comm.Recv(into, source=before)
    return np.concatenate(chunks)
== each_to_each: each-to-each, to the root
    requests = [comm.Isend(chunk, dest=other) for other in range(size) if other != rank]
    for other in range(size):
        if other != rank:
            comm.Recv(chunks[other], source=other)
    MPI.Request.Waitall(requests)
    return np.concatenate(chunks)
== equal_places: wrong-entry, rest
    longest = max(lengths)
    result = np.zeros(size * longest, chunk.dtype)
    result[rank * longest : rank * longest + len(chunk)] = chunk
    for step in range(size - 1):
        out, into = (rank - step) % size, (rank - step - 1) % size
        came = np.zeros(longest, chunk.dtype)
        comm.Sendrecv(result[out * longest :][: lengths[out]].copy(), after, recvbuf=came, source=before)
        result[into * longest : (into + 1) * longest] = came
    return result[: sum(lengths)]
== own_length_for_all: own-length-in-each-round, rest
    chunks = [np.empty(len(chunk), chunk.dtype) for _ in lengths]
    chunks[rank][:] = chunk
    for step in range(size - 1):
        out, into = chunks[(rank - step) % size], chunks[(rank - step - 1) % size]
        comm.Sendrecv(out, after, recvbuf=into, source=before)
    return np.concatenate(chunks)
== padded: array-of-other-shape, rest
    longest = max(lengths)
    rows = np.zeros((size, longest), chunk.dtype)
    rows[rank, : len(chunk)] = chunk
    for step in range(size - 1):
        comm.Sendrecv(rows[(rank - step) % size], after, recvbuf=rows[(rank - step - 1) % size], source=before)
    return rows.ravel()
== on_rank_0: not-on-all-ranks, one rank
    if rank:
        comm.Send(chunk, dest=0)
        return np.zeros(sum(lengths), chunk.dtype)
    for other in range(1, size):
        comm.Recv(chunks[other], source=other)
    return np.concatenate(chunks)
== by_rank_0: through-one-rank, to the root
    result = np.empty(sum(lengths), chunk.dtype)
    if rank:
        comm.Send(chunk, dest=0)
        comm.Recv(result, source=0)
        return result
    for other in range(1, size):
        comm.Recv(chunks[other], source=other)
    result[:] = np.concatenate(chunks)
    for other in range(1, size):
        comm.Send(result, dest=other)
    return result
== everything_so_far: whole-arrays-go-round, whole arrays
    result = np.zeros(sum(lengths), chunk.dtype)
    begin = sum(lengths[:rank])
    result[begin : begin + len(chunk)] = chunk
    for _ in range(size - 1):
        came = np.empty_like(result)
        comm.Sendrecv(result, after, recvbuf=came, source=before)
        came[begin : begin + len(chunk)] = chunk
        result = came
    return result
== the_library: collective-among-messages, ring
    return np.concatenate(comm.allgather(chunk))
== objects: pickled-messages, buffers
    for step in range(size - 1):
        chunks[(rank - step - 1) % size] = comm.sendrecv(chunks[(rank - step) % size], dest=after, source=before)
    return np.concatenate(chunks)
== a_list: returns-no-array, ring < separate
return np.concatenate(chunks) >>> return [number for part in chunks for number in part]
== float_buffer: array-of-other-dtype, buffers < separate
return np.concatenate(chunks) >>> return np.concatenate([np.zeros(0), *chunks])
== other_way: ring-turned-round, ring
    for step in range(size - 1):
        comm.Sendrecv(chunks[(rank + step) % size], before, recvbuf=chunks[(rank + step + 1) % size], source=after)
    return np.concatenate(chunks)
== own_one_in_each_round: own-length-in-each-round, ring
    for step in range(size - 1):
        comm.Sendrecv(chunks[rank], dest=after, recvbuf=chunks[(rank - step - 1) % size], source=before)
    return np.concatenate(chunks)
== workspace: result-overwritten, views < bounds
result = np.zeros(ends[-1], dtype=chunk.dtype) >>> result = ring_all_gather.__dict__.setdefault(f"{ends[-1]} {chunk.dtype}", np.zeros(ends[-1], dtype=chunk.dtype))
== objects_of_buffers: pickle-for-buffer, buffers < separate
comm.Recv(chunks[(rank - step - 1) % size], source=before) >>> chunks[(rank - step - 1) % size] = comm.recv(source=before)
"""
