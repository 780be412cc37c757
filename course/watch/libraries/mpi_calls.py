"""The methods of mpi4py's communicators that communicate, with the names of their arguments."""

from __future__ import annotations

from course.watch.payload import flat

# Names of the arguments of mpi4py's methods, in order; "payload" is what this rank sends, "out" where it receives.
# Methods with a capital take buffers. A status is passed where none is given, as it tells what came from whom.
MESSAGES = flat(
    {
        "Send Ssend Bsend Rsend Isend Issend Ibsend Irsend send ssend bsend isend issend ibsend": "payload dest tag",
        "Recv recv": "out source tag status",
        "Irecv irecv": "out source tag",
        "Sendrecv sendrecv": "payload dest tag out source recvtag status",
        "Isendrecv": "payload dest tag out source recvtag",
        "Sendrecv_replace": "payload dest tag source recvtag status",
        "Isendrecv_replace": "payload dest tag source recvtag",
        "Probe probe Mprobe mprobe": "source tag status",
        "Iprobe iprobe Improbe improbe": "source tag status",
    }
)
COLLECTIVES = flat(
    {
        "allreduce scan exscan": "payload op",
        "reduce": "payload op root",
        "bcast gather scatter": "payload root",
        "allgather alltoall neighbor_allgather neighbor_alltoall": "payload",
        "barrier Barrier Ibarrier": "",
        "Allreduce Iallreduce Scan Iscan Exscan Iexscan": "payload out op",
        "Reduce_scatter_block Ireduce_scatter_block": "payload out op",
        "Reduce_scatter Ireduce_scatter": "payload out counts op",
        "Reduce Ireduce": "payload out op root",
        "Bcast Ibcast": "payload root",
        "Gather Igather Gatherv Igatherv Scatter Iscatter Scatterv Iscatterv": "payload out root",
        "Allgather Iallgather Allgatherv Iallgatherv Alltoall Ialltoall Alltoallv Ialltoallv": "payload out",
        "Alltoallw Ialltoallw Neighbor_allgather Neighbor_allgatherv Neighbor_alltoall": "payload out",
        "Neighbor_alltoallv Neighbor_alltoallw Ineighbor_allgather Ineighbor_allgatherv": "payload out",
        "Ineighbor_alltoall Ineighbor_alltoallv Ineighbor_alltoallw": "payload out",
    }
)
# Each start of what these prepare is a call of its own.
PERSISTENT = flat(
    {
        "Send_init Ssend_init Bsend_init Rsend_init": "payload dest tag",
        "Psend_init": "payload parts dest tag",
        "Recv_init": "out source tag",
        "Precv_init": "out parts source tag",
        "Allreduce_init Scan_init Exscan_init Reduce_scatter_block_init": "payload out op",
        "Reduce_scatter_init": "payload out counts op",
        "Reduce_init": "payload out op root",
        "Bcast_init": "payload root",
        "Gather_init Gatherv_init Scatter_init Scatterv_init": "payload out root",
        "Allgather_init Allgatherv_init Alltoall_init Alltoallv_init Alltoallw_init": "payload out",
        "Neighbor_allgather_init Neighbor_allgatherv_init Neighbor_alltoall_init": "payload out",
        "Neighbor_alltoallv_init Neighbor_alltoallw_init": "payload out",
        "Barrier_init": "",
    }
)
MAKERS = (
    "Dup Dup_with_info Idup Idup_with_info Clone Split Split_type Create Create_group Create_cart Create_graph "
    "Create_dist_graph Create_dist_graph_adjacent Create_intercomm Merge Sub Spawn Spawn_multiple Accept Connect "
    "Create_from_group Create_from_groups"
)
CLASSES = ("Comm", "Intracomm", "Topocomm", "Cartcomm", "Graphcomm", "Distgraphcomm", "Intercomm")
