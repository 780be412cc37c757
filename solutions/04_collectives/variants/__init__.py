"""Right answers to the TODOs of lab 04, and known mistakes, one module per TODO; see `autograde.labs.variants`."""

# Where the mistakes are known from.
SOURCES = {
    "trees": "Thakur, Rabenseifner and Gropp 2005, Optimization of Collective Communication Operations in MPICH",
    "course": "course slide on seven friends who are served at once",
    "broadcast": "https://mpitutorial.com/tutorials/mpi-broadcast-and-collective-communication/",
    "reduce": "https://mpitutorial.com/tutorials/mpi-reduce-and-allreduce/",
    "to the root": "UCSD CSE 234, assignment on MPI: the documented `myAllreduce` reduces to the root",
    "buffers": "https://mpi4py.readthedocs.io/en/stable/tutorial.html#point-to-point-communication",
    "whole arrays": "https://github.com/callummcdougall/ARENA_3.0/issues/407",
    "unsafe": "ICHEC, Python for HPC, lesson 7",
    "ring": "Patarasuk and Yuan 2009, Bandwidth optimal all-reduce algorithms for clusters of workstations",
    "rest": "https://github.com/ROCm/rocm-systems/issues/3213",
    "one rank": "https://github.com/NVIDIA/FasterTransformer/issues/672",
    "views": "https://numpy.org/doc/stable/reference/generated/numpy.array_split.html",
    "cost": "Thakur, Rabenseifner and Gropp 2005, section 3: the cost model",
}
