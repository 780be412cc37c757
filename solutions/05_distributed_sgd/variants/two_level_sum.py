"""Right answers to `two_level_sum`, and mistakes that people make."""

ANSWERS = """
import numpy as np
from mpi4py import MPI
def two_level_sum(comm, host, array):
    hosts = comm.allgather(host)
    first = hosts.index(host)
    node = comm.Split(first)
    total = np.empty_like(array)
== group
    leaders = sorted({hosts.index(each) for each in hosts})
    node.Reduce(array, total)
    if comm.rank in leaders:
        across = comm.Create_group(comm.group.Incl(leaders))
        across.Allreduce(MPI.IN_PLACE, total)
        across.Free()
    node.Bcast(total)
    node.Free()
    return total
== by_messages
    node.Allreduce(array, total)
    leaders = sorted({hosts.index(each) for each in hosts})
    own = total.copy()
    if comm.rank == leaders[0]:
        for other in leaders[1:]:
            came = np.empty_like(total)
            comm.Recv(came, source=other)
            total += came
        for other in leaders[1:]:
            comm.Send(total, dest=other)
    elif comm.rank in leaders:
        comm.Send(total, dest=leaders[0])
        comm.Recv(total, source=leaders[0])
    node.Bcast(total)
    return total
== last_leads
    rows = node.gather(array, root=node.size - 1)
    across = comm.Split(0 if rows is not None else 1)
    if rows is not None:
        total[...] = sum(rows)
        total[...] = across.allreduce(total)
    return node.bcast(total, root=node.size - 1)
== one_allreduce: all-ranks-cross, levels
    comm.Allreduce(array, total)
    return total
== hash_as_color: hosts-apart-by-hash, hash
    node = comm.Split(hash(host) % 2**31)
    leaders = comm.Split(0 if node.rank == 0 else MPI.UNDEFINED)
    node.Reduce(array, total)
    if node.rank == 0:
        leaders.Allreduce(MPI.IN_PLACE, total)
    node.Bcast(total)
    return total
== leaders_first: leaders-alone, levels
    leaders = comm.Split(0 if node.rank == 0 else MPI.UNDEFINED)
    if node.rank == 0:
        leaders.Allreduce(array, total)
    node.Bcast(total)
    return total
== left_there: left-with-leaders, levels < solution
    node.Bcast(total, root=0)\\n >>>
    total = np.empty_like(array) >>>     total = array.copy()
== only_the_host: sum-of-own-host, levels
    node.Allreduce(array, total)
    return total
== nodes_weighted: host-counted-by-ranks, levels
    node.Allreduce(array, total)
    comm.Allreduce(MPI.IN_PLACE, total)
    return total
== split_by_leaders: split-by-some, null
    node.Reduce(array, total)
    if node.rank == 0:
        leaders = comm.Split(0)
        leaders.Allreduce(MPI.IN_PLACE, total)
    node.Bcast(total)
    return total
== call_on_null: null-communicator, null
    leaders = comm.Split(0 if node.rank == 0 else MPI.UNDEFINED)
    node.Reduce(array, total)
    leaders.Allreduce(MPI.IN_PLACE, total)
    node.Bcast(total)
    return total
== rank_by_rank: several-cross, levels
    node.Allreduce(array, total)
    flat = total.reshape(-1)
    half = flat.size // 2
    for end, part in ((0, flat[:half]), (node.size - 1, flat[half:])):
        across = comm.Split(0 if node.rank == end else MPI.UNDEFINED)
        if node.rank == end:
            across.Allreduce(MPI.IN_PLACE, part)
        node.Bcast(part, root=end)
    return total
== last_digit: all-ranks-cross, levels < solution
hosts.index(host), comm.rank >>> int(host[-1]), comm.rank
== letters_added: all-ranks-cross, levels < solution
hosts.index(host), comm.rank >>> sum(map(ord, host)), comm.rank
== real_node: all-ranks-cross, levels
    node = comm.Split_type(MPI.COMM_TYPE_SHARED)
    node.Allreduce(array, total)
    return total
== in_pieces: in-small-pieces, levels
    flat, whole = array.reshape(-1), total.reshape(-1)
    for begin in range(0, flat.size, 25):
        comm.Allreduce(flat[begin : begin + 25].copy(), whole[begin : begin + 25])
    return total
== everything_gathered: all-ranks-cross, levels
    return np.array(sum(comm.allgather(array)), dtype=array.dtype)
== in_the_argument: argument-changed, levels < solution
    total = np.empty_like(array)\\n    node.Reduce(array, total, root=0) >>>     total = array\\n    node.Allreduce(MPI.IN_PLACE, total)
== in_floats: array-of-other-dtype, precision < solution
    total = np.empty_like(array) >>>     array = array.astype(float); total = np.empty_like(array)
== through_floats: through-float, precision < solution
    total = np.empty_like(array) >>>     kind, array = array.dtype, array.astype(float); total = np.empty_like(array)
    return total >>>     return total.astype(kind)
== workspace: result-overwritten, levels < solution
    total = np.empty_like(array) >>>     total = KEPT.setdefault((array.shape, array.dtype.str), np.empty_like(array))
def two_level_sum(comm, host: str, array: np.ndarray) >>> KEPT = {}\\n\\n\\ndef two_level_sum(comm, host: str, array: np.ndarray)
== flat: array-of-other-shape, levels < solution
    return total >>>     return total.ravel()
== nothing: returns-no-array, levels < solution
    return total >>>     return None
"""
