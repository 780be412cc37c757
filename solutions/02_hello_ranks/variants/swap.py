"""Right answers to `swap`, and mistakes that people make."""

ANSWERS = """
import numpy as np
from mpi4py import MPI
def swap(comm, array):
    rank, size = comm.rank, comm.size
    partner = rank + 1 if rank % 2 == 0 else rank - 1
    alone = partner >= size
    other = np.empty_like(array)
== even_first
    if alone:
        return array.copy()
    if rank < partner:
        comm.Send(array, dest=partner)
        comm.Recv(other, source=partner)
    else:
        comm.Recv(other, source=partner)
        comm.Send(array, dest=partner)
    return other
== requests
    if alone:
        return np.array(array)
    requests = [comm.Irecv(other, source=partner), comm.Isend(array, dest=partner)]
    MPI.Request.Waitall(requests)
    return other
== isend
    if alone:
        return array.copy()
    request = comm.Isend(array, dest=partner)
    comm.Recv(other, source=partner)
    request.Wait()
    return other
== objects
    return array.copy() if alone else comm.sendrecv(array, dest=partner, source=partner)
== replaced_copy
    other = array.copy()
    if not alone:
        comm.Sendrecv_replace(other, dest=partner, source=partner)
    return other
== with_itself
    partner = rank if alone else partner
    comm.Sendrecv(array, partner, recvbuf=other, source=partner)
    return other
== null_process
    other = array.copy()
    partner = MPI.PROC_NULL if alone else partner
    comm.Sendrecv(array, partner, recvbuf=other, source=partner)
    return other
== both_send_first: sends-first, unsafe
    if alone:
        return array.copy()
    comm.Send(array, dest=partner)
    comm.Recv(other, source=partner)
    return other
== both_send_objects_first: sends-first, exchange
    if alone:
        return array.copy()
    comm.send(array, dest=partner)
    return comm.recv(source=partner)
== both_receive_first: never-sent, both receive
    if alone:
        return array.copy()
    comm.Recv(other, source=partner)
    comm.Send(array, dest=partner)
    return other
== argument_replaced: argument-changed, exchange
    if not alone:
        comm.Sendrecv_replace(array, dest=partner, source=partner)
    return array.copy()
== ring: ring-not-pairs, exchange
    return comm.sendrecv(array, dest=(rank + 1) % size, source=(rank - 1) % size)
== ring_in_buffers: other-partner, exchange
    comm.Sendrecv(array, dest=(rank + 1) % size, recvbuf=other, source=(rank - 1) % size)
    return other
== the_other_of_two: partner-is-no-rank, exchange
    comm.Sendrecv(array, dest=1 - rank, recvbuf=other, source=1 - rank)
    return other
== first_with_last: other-partner, exchange
    partner = size - 1 - rank
    return array.copy() if partner == rank else comm.sendrecv(array, partner, source=partner)
== first_with_last_in_buffers: other-partner, exchange
    partner = size - 1 - rank
    comm.Sendrecv(array, partner, recvbuf=other, source=partner)
    return other
== workspace: result-overwritten, buffers
    kept = vars(np).setdefault("kept_by_swap", {})
    other = kept.setdefault((array.shape, array.dtype.str), other)
    if alone:
        return array.copy()
    comm.Sendrecv(array, partner, recvbuf=other, source=partner)
    return other
== told_to_all: message-to-another-rank, exchange
    requests = [comm.isend(array, dest=each) for each in range(size) if each != rank]
    arrays = {each: comm.recv(source=each) for each in range(size) if each != rank}
    MPI.Request.waitall(requests)
    return array.copy() if alone else arrays[partner]
== no_partner: partner-is-no-rank, exchange
    comm.Sendrecv(array, dest=partner, recvbuf=other, source=partner)
    return other
== last_returns_none: returns-no-array, exchange
    if not alone:
        comm.Sendrecv(array, dest=partner, recvbuf=other, source=partner)
        return other
== float_buffer: array-of-other-dtype, buffers
    other = np.empty(array.shape)
    if alone:
        return array.copy()
    comm.Sendrecv([array, MPI.BYTE], partner, recvbuf=[other, MPI.BYTE], source=partner)
    return other
== flat: array-of-other-shape, buffers
    other = np.empty(array.size, array.dtype)
    if alone:
        return array.copy()
    comm.Sendrecv(array, partner, recvbuf=other, source=partner)
    return other
== own_back: own-array-back, exchange
    if not alone:
        comm.Sendrecv(array, partner, recvbuf=other, source=partner)
    return array.copy()
== alone_not_copied: memory-of-the-argument, exchange
    if alone:
        return array
    comm.Sendrecv(array, partner, recvbuf=other, source=partner)
    return other
== alone_a_view: memory-of-the-argument, exchange
    if alone:
        return array[...]
    comm.Sendrecv(array, partner, recvbuf=other, source=partner)
    return other
== not_waited_for: send-not-waited-for, request
    if alone:
        return array.copy()
    comm.Isend(array, dest=partner)
    comm.Recv(other, source=partner)
    return other
== by_all: collective-among-messages, exchange
    everything = comm.allgather(array)
    return array.copy() if alone else everything[partner]
== in_two_parts: more-messages-than-needed, exchange
    if alone:
        return array.copy()
    own, flat = array.reshape(-1), np.empty(array.size, array.dtype)
    half = own.size // 2
    for part in slice(None, half), slice(half, None):
        comm.Sendrecv(own[part], partner, recvbuf=flat[part], source=partner)
    return flat.reshape(array.shape)
== nothing_came: wrong-entry, exchange
    if not alone:
        comm.Sendrecv(array, partner, recvbuf=other, source=partner)
    return np.zeros_like(array)
== world: world-not-comm, exchange
    everyone = MPI.COMM_WORLD
    partner = everyone.rank ^ 1
    everyone.Sendrecv(array.ravel(), partner, recvbuf=other, source=partner)
    return other
== one_sends_only: never-sent, exchange
    if alone:
        return array.copy()
    if rank % 2 == 0:
        comm.Send(array, dest=partner)
        comm.Recv(other, source=partner)
        return other
    comm.Recv(other, source=partner)
    return other
"""
