"""Right answers to `in_turn`, and mistakes that people make."""

ANSWERS = """
import time
import numpy as np
from mpi4py import MPI
def in_turn(comm, action):
    rank, size = comm.rank, comm.size
== buffers
    word = np.zeros(1)
    if rank > 0:
        comm.Recv(word, source=rank - 1)
    result = action()
    if rank + 1 < size:
        comm.Send(word, dest=rank + 1)
    return result
== null_process
    word, before = np.zeros(1), rank - 1 if rank else MPI.PROC_NULL
    comm.Recv(word, source=before)
    result = action()
    comm.Send(word, dest=rank + 1 if rank + 1 < size else MPI.PROC_NULL)
    return result
== any_source
    if rank:
        comm.recv(source=MPI.ANY_SOURCE, tag=5)
    result = action()
    if rank < size - 1:
        comm.ssend("your turn", dest=rank + 1, tag=5)
    return result
== requests
    if rank:
        comm.irecv(source=rank - 1).wait()
    result = action()
    if rank < size - 1:
        comm.isend(rank, dest=rank + 1).wait()
    return result
== all_wait: never-sent, ring
    comm.recv(source=(rank - 1) % size)
    result = action()
    comm.send(None, dest=(rank + 1) % size)
    return result
== last_passes_it_on: message-to-another-rank, ring
    if rank > 0:
        comm.recv(source=rank - 1)
    result = action()
    comm.isend(None, dest=(rank + 1) % size).wait()
    return result
== beyond_the_last: no-such-rank, ring
    if rank > 0:
        comm.recv(source=rank - 1)
    result = action()
    comm.send(None, dest=rank + 1)
    return result
== too_early: passed-on-too-early, ring
    if rank > 0:
        comm.recv(source=rank - 1)
    if rank < size - 1:
        comm.send(None, dest=rank + 1)
    return action()
== nobody: nobody-waits, standard
    return action()
== sleeps: nobody-waits, print in order
    time.sleep(0.3 * rank)
    return action()
== barriers: collective-among-messages, print in order
    for each in range(size):
        if each == rank:
            result = action()
        comm.Barrier()
    return result
== one_barrier: out-of-turn, print in order
    comm.Barrier()
    return action()
== from_rank_0: message-to-another-rank, print in order
    if rank == 0:
        result = action()
        for other in range(1, size):
            comm.send(None, dest=other)
            comm.recv(source=other)
        return result
    comm.recv(source=0)
    result = action()
    comm.send(None, dest=0)
    return result
== backwards: out-of-turn, ring
    if rank < size - 1:
        comm.recv(source=rank + 1)
    result = action()
    if rank > 0:
        comm.send(None, dest=rank - 1)
    return result
== twice: action-not-once, ring
    if rank > 0:
        comm.recv(source=rank - 1)
    action()
    result = action()
    if rank < size - 1:
        comm.send(None, dest=rank + 1)
    return result
== nothing_returned: another-kind, ring
    if rank > 0:
        comm.recv(source=rank - 1)
    action()
    if rank < size - 1:
        comm.send(None, dest=rank + 1)
== result_of_the_one_before: another-value, ring
    before = comm.recv(source=rank - 1) if rank > 0 else None
    result = action()
    if rank < size - 1:
        comm.send(result, dest=rank + 1)
    return before or result
== two_words: more-messages-than-needed, ring
    for _ in range(2 if rank else 0):
        comm.recv(source=rank - 1)
    result = action()
    for _ in range(2 if rank < size - 1 else 0):
        comm.send(None, dest=rank + 1)
    return result
== long_word: message-too-large, ring
    if rank > 0:
        comm.recv(source=rank - 1)
    result = action()
    if rank < size - 1:
        comm.send("It is your turn, rank " * 20, dest=rank + 1)
    return result
== not_sent: never-sent, ring
    if rank > 0:
        comm.recv(source=rank - 1)
    return action()
== not_received: word-not-received, ring
    result = action()
    if rank < size - 1:
        comm.send(None, dest=rank + 1)
    return result
== the_world: world-not-comm, standard
    everyone = MPI.COMM_WORLD
    if everyone.rank > 0:
        everyone.recv(source=everyone.rank - 1)
    result = action()
    if everyone.rank < everyone.size - 1:
        everyone.send(None, dest=everyone.rank + 1)
    return result
== not_waited_for: send-not-waited-for, request
    if rank > 0:
        comm.recv(source=rank - 1)
    result = action()
    if rank < size - 1:
        request = comm.isend(None, dest=rank + 1)
    return result
== sends_the_result: message-too-large, ring
    if rank > 0:
        comm.recv(source=rank - 1)
    result = action()
    if rank < size - 1:
        comm.send(result, dest=rank + 1)
    return result
"""
