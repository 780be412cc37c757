"""Right answers to `local_place`, and mistakes that people make."""

ANSWERS = r"""
from mpi4py import MPI
def local_place(comm, host):
    rank, size = comm.rank, comm.size
== split_by_first_rank
    first = comm.allgather(host).index(host)
    node = comm.Split(first, rank)
    return node.rank, node.size
== counted
    hosts = comm.allgather(host)
    return hosts[:rank].count(host), hosts.count(host)
== gathered_and_scattered
    hosts = comm.gather(host)
    pairs = [(hosts[:r].count(h), hosts.count(h)) for r, h in enumerate(hosts)] if rank == 0 else None
    return comm.scatter(pairs)
== in_numpy
    import numpy as np
    names = np.array(comm.allgather(host))
    return np.sum(names[:rank] == host), np.sum(names == host)
== a_list
    return [sum(h == host for h in part) for hosts in [comm.allgather(host)] for part in (hosts[:rank], hosts)]
== alone_without
    if size == 1:
        return 0, 1
    hosts = comm.alltoall([host] * size)
    return hosts[:rank].count(host), hosts.count(host)
== scanned
    from collections import Counter
    before = comm.exscan(Counter([host]), op=lambda x, y: x + y)
    there = comm.allreduce(Counter([host]), op=lambda x, y: x + y)
    return before[host] if rank else 0, there[host]
== class_of_its_own < counted
def local_place( >>> from typing import NamedTuple\nclass Place(NamedTuple):\n    host: str\ndef local_place(
comm.allgather(host) >>> [place.host for place in comm.allgather(Place(host))]
== modulo: rank-modulo, modulo < counted
hosts[:rank].count(host) >>> rank % hosts.count(host)
== begins_alike: name-begins-alike, prefix < counted
return >>> n = [h.startswith(host) for h in hosts]\n    return
hosts[:rank].count(host) >>> sum(n[:rank])
, hosts.count(host) >>> , sum(n)
== begins_with_mine: name-begins-alike, prefix < counted
return >>> n = [host.startswith(h) for h in hosts]\n    return
hosts[:rank].count(host) >>> sum(n[:rank])
, hosts.count(host) >>> , sum(n)
== short_names: name-cut-at-the-dot, prefix < counted
comm.allgather(host) >>> [each.split(".")[0] for each in comm.allgather(host)]\n    host = hosts[rank]
== hash_as_colour: nodes-apart-by-hash, hash
    node = comm.Split(hash(host) % 2**31, rank)
    return node.rank, node.size
== number_of_the_node: number-of-the-node, local rank < counted
hosts[:rank].count(host) >>> sorted(set(hosts)).index(host)
== number_of_the_node_in_order: number-of-the-node, local rank < counted
hosts[:rank].count(host) >>> list(dict.fromkeys(hosts)).index(host)
== this_machine: rank-of-all-ranks, local rank
    node = comm.Split_type(MPI.COMM_TYPE_SHARED)
    return node.rank, node.size
== nothing_asked: rank-of-all-ranks, local rank
    return rank, size
== from_one: wrong-place, local rank < counted
hosts[:rank] >>> hosts[: rank + 1]
== equal_nodes: nodes-of-equal-size, local rank < counted
return >>> few = size // len(set(hosts))\n    return
hosts[:rank].count(host) >>> rank % few
, hosts.count(host) >>> , few
== only_neighbours: wrong-place, local rank
    hosts = comm.allgather(host)
    low = high = rank
    while low > 0 and hosts[low - 1] == host:
        low -= 1
    while high < size - 1 and hosts[high + 1] == host:
        high += 1
    return rank - low, high - low + 1
== from_the_end: wrong-place, split
    node = comm.Split(comm.allgather(host).index(host), -rank)
    return node.rank, node.size
== the_world: world-not-comm, split
    hosts = MPI.COMM_WORLD.allgather(host)
    return hosts[: MPI.COMM_WORLD.rank].count(host), hosts.count(host)
== local_rank_alone: not-all-values, local rank
    return comm.allgather(host)[:rank].count(host)
== one_after_the_other: many-collectives, split
    hosts = [comm.bcast(host, root=r) for r in range(size)]
    return hosts[:rank].count(host), hosts.count(host)
== by_messages: messages-for-a-collective, split
    requests = [comm.isend(host, dest=r) for r in range(size)]
    hosts = [comm.recv(source=r) for r in range(size)]
    for request in requests:
        request.wait()
    return hosts[:rank].count(host), hosts.count(host)
== other_order: wrong-place, split
    return comm.size - 1 - rank, comm.allgather(host).count(host)
"""
