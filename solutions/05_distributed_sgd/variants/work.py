"""Right answers to `work`, and mistakes that people make."""

ANSWERS = """
import numpy as np
from mpi4py import MPI
PULL, PUSH, DONE = 1, 2, 3
def work(comm, gradient, count, steps):
    nothing = np.empty(0)
== sendrecv
    for _ in range(steps):
        parameters = np.zeros(count)
        comm.Sendrecv(nothing, 0, PULL, parameters, 0, PULL)
        comm.Send([gradient(parameters), MPI.DOUBLE], 0, PUSH)
    comm.Send(nothing, 0, DONE)
== requests
    parameters = np.empty(count, dtype="d")
    while steps > 0:
        steps -= 1
        answer = comm.Irecv(parameters, source=0)
        comm.Send(nothing, dest=0, tag=PULL)
        answer.Wait()
        comm.Isend(gradient(parameters), dest=0, tag=PUSH).Wait()
    comm.Send([nothing, MPI.DOUBLE], dest=0, tag=DONE)
== synchronous
    parameters = np.empty(count)
    for step in range(steps):
        comm.Ssend(nothing, dest=0, tag=PULL)
        comm.Recv([parameters, count, MPI.DOUBLE], source=0, tag=MPI.ANY_TAG)
        pushed = np.array(gradient(parameters))
        comm.Ssend(pushed, dest=0, tag=PUSH)
    comm.Ssend(nothing, dest=0, tag=DONE)
== once: pulls-only-once, server
    parameters = np.empty(count)
    if steps:
        comm.Send(nothing, dest=0, tag=PULL)
        comm.Recv(parameters, source=0, tag=PULL)
    for _ in range(steps):
        comm.Send(gradient(parameters), dest=0, tag=PUSH)
    comm.Send(nothing, dest=0, tag=DONE)
== not_done: no-done, server < solution
-    comm.Send(nothing, dest=0, tag=DONE)
== done_each_time: other-requests, server < solution
-    comm.Send(nothing, dest=0, tag=DONE)
+        comm.Send(nothing, dest=0, tag=DONE)
== one_more_pull: other-requests, server < solution
comm.Send(nothing, dest=0, tag=DONE) >>> comm.Send(nothing, 0, PULL); comm.Recv(parameters, 0); comm.Send(nothing, 0, DONE)
== asks_later: waits-before-it-asks, buffers
    parameters = np.empty(count)
    for _ in range(steps):
        comm.Recv(parameters, source=0, tag=PULL)
        comm.Send(nothing, dest=0, tag=PULL)
        comm.Send(gradient(parameters), dest=0, tag=PUSH)
    comm.Send(nothing, dest=0, tag=DONE)
== thanks: waits-for-thanks, server < solution
comm.Send(gradient(parameters), dest=0, tag=PUSH) >>> comm.Send(gradient(parameters), 0, PUSH); comm.Recv(parameters, 0)
== one_buffer: changed-under-way, buffers
    parameters, pushed, sends = np.empty(count), np.empty(count), []
    for _ in range(steps):
        comm.Send(nothing, dest=0, tag=PULL)
        comm.Recv(parameters, source=0, tag=PULL)
        pushed[:] = gradient(parameters)
        sends.append(comm.Isend(pushed, dest=0, tag=PUSH))
    comm.Send(nothing, dest=0, tag=DONE)
    MPI.Request.Waitall(sends)
== parameters_pushed: pushes-a-step, server < solution
gradient(parameters) >>> gradient(parameters) * 0 + parameters
== a_step_pushed: pushes-a-step, server < solution
gradient(parameters) >>> parameters - 0.1 * gradient(parameters)
== asked_twice: gradient-calls, server < solution
gradient(parameters) >>> (gradient(parameters) + gradient(parameters)) / 2
== first_ones: gradient-of-others, server
    parameters, first = np.empty(count), None
    for _ in range(steps):
        comm.Send(nothing, dest=0, tag=PULL)
        comm.Recv(parameters, source=0, tag=PULL)
        first = parameters.copy() if first is None else first
        comm.Send(gradient(first), dest=0, tag=PUSH)
    comm.Send(nothing, dest=0, tag=DONE)
== small_pull: pickled-messages, buffers < solution
comm.Send(nothing, dest=0, tag=PULL) >>> comm.send(None, dest=0, tag=PULL)
== small_push: pickled-messages, buffers < solution
comm.Send(gradient(parameters), dest=0, tag=PUSH) >>> comm.send(gradient(parameters), dest=0, tag=PUSH)
== single: other-bytes, precision < solution
gradient(parameters) >>> gradient(parameters).astype(np.float32)
== small_answer: pickle-for-buffer, buffers < solution
comm.Recv(parameters, source=0, tag=PULL) >>> parameters = comm.recv(source=0, tag=PULL)
== word_to_the_next: message-to-another-rank, server < solution
comm.Send(nothing, dest=0, tag=DONE) >>> comm.Send(nothing, 0, DONE); comm.isend(None, comm.rank % (comm.size - 1) + 1, 9).Free()
"""
