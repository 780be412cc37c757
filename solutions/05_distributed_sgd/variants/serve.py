"""Right answers to `serve`, and mistakes that people make."""

ANSWERS = """
import numpy as np
from mpi4py import MPI
PULL, PUSH, DONE = 1, 2, 3
def serve(comm, parameters, rate):
    status, size = MPI.Status(), len(parameters)
== by_tags
    now, done = np.array(parameters), set()
    while len(done) < comm.size - 1:
        came = np.empty(size)
        comm.Recv([came, MPI.DOUBLE], source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG, status=status)
        source = status.Get_source()
        if status.Get_tag() == DONE:
            done.add(source)
        elif status.Get_tag() == PUSH:
            now = now - rate * came
        else:
            comm.Send([now, MPI.DOUBLE], dest=source, tag=PULL)
    return now
== probed
    now = parameters.copy()
    for _ in range(comm.size - 1):
        while True:
            comm.Probe(status=status)
            source, tag = status.source, status.tag
            came = np.empty(status.Get_count(MPI.DOUBLE))
            comm.Recv(came, source=source, tag=tag)
            if tag == DONE:
                break
            if tag == PUSH:
                now -= rate * came
            else:
                comm.Send(now, dest=source, tag=PULL)
    return now
== probed_and_then_any
    now, left = parameters.copy(), comm.size - 1
    while left:
        comm.Probe()
        came = np.empty(size)
        comm.Recv(came, status=status)
        if status.tag == PULL:
            comm.Send(now, dest=status.source, tag=PULL)
        elif status.tag == PUSH:
            now -= rate * came
        else:
            left -= 1
    return now
== polling
    now, left = parameters + 0.0, comm.size - 1
    while left:
        for worker in range(1, comm.size):
            if comm.Iprobe(source=worker, status=status):
                came = np.zeros(size)
                comm.Recv(came, source=worker, tag=status.tag)
                if status.tag == PULL:
                    comm.Send(now, worker, PULL)
                elif status.tag == PUSH:
                    now += -rate * came
                else:
                    left -= 1
    return now
== posted
    now, left, came = parameters.copy(), comm.size - 1, np.empty(size)
    while left:
        request = comm.Irecv(came, source=MPI.ANY_SOURCE)
        request.Wait(status)
        if status.tag == PULL:
            comm.Isend(now, dest=status.source, tag=PULL).Wait()
        elif status.tag == PUSH:
            now -= came * rate
        else:
            left -= 1
    return now
== copies_under_way
    now, left, came, sends = parameters.copy(), comm.size - 1, np.empty(size), []
    while left:
        comm.Recv(came, status=status)
        if status.tag == PULL:
            sends.append(comm.Isend(now.copy(), dest=status.source, tag=PULL))
        elif status.tag == PUSH:
            now -= rate * came
        else:
            left -= 1
    MPI.Request.Waitall(sends)
    return now
== changed_under_way: changed-under-way, buffers < copies_under_way
now.copy(), dest >>> now, dest
== in_rank_order: waits-for-one-worker, turns
    now, left, came = parameters.copy(), list(range(1, comm.size)), np.empty(size)
    while left:
        for worker in list(left):
            comm.Recv(came, source=worker, status=status)
            if status.tag == PULL:
                comm.Send(now, dest=worker, tag=PULL)
            elif status.tag == PUSH:
                now -= rate * came
            else:
                left.remove(worker)
    return now
== one_after_the_other: waits-for-one-worker, turns
    now, came = parameters.copy(), np.empty(size)
    for worker in range(1, comm.size):
        while True:
            comm.Recv(came, source=worker, status=status)
            if status.tag == DONE:
                break
            if status.tag == PULL:
                comm.Send(now, dest=worker, tag=PULL)
            else:
                now -= rate * came
    return now
== all_pushes_first: waits-for-all, server
    now, left, came, waiting, pushed = parameters.copy(), comm.size - 1, np.empty(size), [], 0
    first = left
    while left:
        comm.Recv(came, status=status)
        if status.tag == PULL:
            if first:
                comm.Send(now, dest=status.source, tag=PULL)
                first -= 1
            else:
                waiting.append(status.source)
        elif status.tag == PUSH:
            now -= rate * came
            pushed += 1
        else:
            left -= 1
        if pushed and pushed % (comm.size - 1) == 0 and len(waiting) == comm.size - 1:
            for worker in waiting:
                comm.Send(now, dest=worker, tag=PULL)
            waiting = []
    return now
== all_pulls_first: waits-for-all, server
    now, left, came, waiting = parameters.copy(), comm.size - 1, np.empty(size), []
    while left:
        comm.Recv(came, status=status)
        if status.tag == PULL:
            waiting.append(status.source)
        elif status.tag == PUSH:
            now -= rate * came
        else:
            left -= 1
        if len(waiting) == comm.size:
            for worker in waiting:
                comm.Send(now, dest=worker, tag=PULL)
            waiting = []
    return now
== first_done: gone-too-early, server < solution
working -= 1 >>> break
== waits_for_itself: never-goes, server < solution
comm.size - 1 >>> comm.size
== any_after_probe: probe-then-anybody, probe < solution
comm.Recv(gradient, status=status) >>> comm.Probe(status=status)\\n        comm.Recv(gradient)
== probed_and_divided: divided-by-workers, server < probed
now -= rate * came >>> now -= rate * came / (comm.size - 1)
== probed_and_first: answers-with-the-first, server < probed
comm.Send(now, dest >>> comm.Send(parameters, dest
== first_parameters: answers-with-the-first, server
    now, left, came = parameters.copy(), comm.size - 1, np.empty(size)
    while left:
        comm.Recv(came, status=status)
        if status.tag == PULL:
            comm.Send(parameters, dest=status.source, tag=PULL)
        elif status.tag == PUSH:
            now -= rate * came
        else:
            left -= 1
    return now
== to_all: answer-nobody-asked-for, server
    now, left, came = parameters.copy(), comm.size - 1, np.empty(size)
    while left:
        comm.Recv(came, status=status)
        if status.tag == PULL:
            for worker in range(1, comm.size):
                comm.Send(now, dest=worker, tag=PULL)
        elif status.tag == PUSH:
            now -= rate * came
        else:
            left -= 1
    return now
== answers_a_push: answer-nobody-asked-for, server < solution
parameters -= rate * gradient >>> parameters -= rate * gradient\\n            comm.Send(parameters, dest=status.source, tag=PUSH)
== by_workers: divided-by-workers, server < solution
rate * gradient >>> rate * gradient / (comm.size - 1)
== added: gradient-not-subtracted, calculus < solution
parameters -= rate >>> parameters += rate
== no_rate: rate-forgotten, calculus < solution
rate * gradient >>> gradient
== last_push: another-value, server
    now, left, came = parameters.copy(), comm.size - 1, np.empty(size)
    while left:
        comm.Recv(came, status=status)
        if status.tag == PULL:
            comm.Send(now, dest=status.source, tag=PULL)
        elif status.tag == PUSH:
            now = parameters - rate * came
        else:
            left -= 1
    return now
== argument_moved: argument-changed, server < solution
parameters, gradient = parameters.copy(), np.empty_like(parameters) >>> gradient = np.empty_like(parameters)
== sent_in_single: float32, precision < solution
comm.Send(parameters, dest >>> comm.Send(parameters.astype(np.float32).astype(np.float64), dest
== one_too_few: another-shape, buffers < solution
comm.Send(parameters, dest >>> comm.Send(parameters[:-1], dest
== first_returned: wrong-entry, server < solution
    parameters, gradient = parameters.copy() >>>     first = parameters.copy()\\n    parameters, gradient = parameters.copy()
    return parameters >>>     return first
== tag_left_out: another-value, buffers < solution
dest=status.source, tag=PULL >>> dest=status.source
== nothing_returned: returns-no-array, server < solution
return parameters >>> return None
== not_finite: another-kind, server < solution
rate * gradient >>> rate * gradient * np.inf
== small_letters: pickle-for-buffer, buffers < solution
comm.Recv(gradient, status=status) >>> gradient = comm.recv(status=status)
== a_broadcast: collective-among-messages, server
    now, left, came = parameters.copy(), comm.size - 1, np.empty(size)
    comm.Ibarrier()
    while left:
        comm.Recv(came, status=status)
        if status.tag == PULL:
            comm.Send(now, dest=status.source, tag=PULL)
        elif status.tag == PUSH:
            now -= rate * came
        else:
            left -= 1
    return now
"""
