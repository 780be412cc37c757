"""Right answers to the TODOs of lab 02, and known mistakes, one module per TODO; see `autograde.labs.variants`."""

# Where the mistakes are known from.
SOURCES = {
    "modulo": "https://github.com/fbpic/fbpic/pull/523",
    "prefix": "https://github.com/uxlfoundation/oneCCL/issues/221",
    "hash": "https://github.com/pytorch/pytorch/issues/173687",
    "local rank": "https://github.com/horovod/horovod/issues/1025",
    "split": "https://mpitutorial.com/tutorials/introduction-to-groups-and-communicators/",
    "standard": "https://www.mpi-forum.org/docs/mpi-3.1/mpi31-report.pdf, section 2.9.1",
    "ring": "https://mpitutorial.com/tutorials/mpi-send-and-receive/",
    "print in order": "Stack Overflow: Ordering output in MPI",
    "course": "course slide on sharing out a loop, and IDRIS, MPI practical 4",
    "uneven": (
        "Stack Overflow: How to share work roughly evenly between processes in MPI despite the "
        "array_size not being cleanly divisible by the number of processes?"
    ),
    "average": "https://github.com/horovod/horovod/issues/843",
    "unsafe": "https://www.mcs.anl.gov/research/projects/mpi/tutorial/gropp/node82.html",
    "exchange": "PRACE, MPI course, exercise message-exchange b",
    "both receive": "https://github.com/NVIDIA/nccl/issues/479",
    "request": "https://github.com/mpi4py/mpi4py/issues/591",
    "buffers": "https://mpi4py.readthedocs.io/en/stable/tutorial.html#point-to-point-communication",
    "matrices": "IDRIS, MPI practicals on matrix products and communicators",
}
