"""Right answers to the TODOs of lab 03, and known mistakes, one module per TODO; see `autograde.labs.variants`."""

# Where the mistakes are known from.
SOURCES = {
    "blind": "readers who solved this lab from its notebook alone, or tried what a novice may try",
    "uneven": (
        "Stack Overflow: How to share work roughly evenly between processes in MPI despite the "
        "array_size not being cleanly divisible by the number of processes?"
    ),
    "last rank": "https://people.sc.fsu.edu/~jburkardt/cpp_src/task_division/task_division.html",
    "trapezoids": "https://www.learnpdc.org/IntermediatePDC/6-MPI-Exemplars/2-TrapIntegration.html",
    "counted from 1": "parts counted from 1, as MATLAB's `spmdIndex` counts them",
    "pi exercise": "https://www.msi.umn.edu/workshops/mpi/hands-on/collective/finding-pi/assign",
    "reduce": "https://www.rookiehpc.com/mpi/docs/mpi_reduce.php",
    "reduce in gloo": "https://github.com/pytorch/pytorch/issues/76527",
    "allreduce": "http://ebook.pldworld.com/%2Dhuihoo%2D/book/mpi%2Dthe%2Dcomplete%2Dreference/node115.html",
    "request": "https://manpages.ubuntu.com/manpages/bionic/man3/MPI_Iallreduce.3.html",
    "wait": "https://discuss.pytorch.org/t/what-is-the-difference-between-wait-and-barrier-in-torch-distributed/129720",
    "synchronize": "https://github.com/horovod/horovod/issues/286",
    "average": "https://github.com/horovod/horovod/issues/843",
    "cpu collective": "https://github.com/pytorch/examples/pull/1034",
    "divided again": "https://github.com/tczhangzhi/pytorch-distributed/issues/14",
    "not in place": "https://github.com/horovod/horovod/issues/6",
    "names": "https://github.com/horovod/horovod/issues/2107",
    "local rank": "https://github.com/horovod/horovod/issues/510",
    "float32": "https://github.com/pytorch/pytorch/issues/136350",
    "numpy scalar": "https://github.com/pytorch/pytorch/issues/27754",
    "ordinary values": "https://github.com/horovod/horovod/issues/113",
    "subset of ranks": "https://github.com/horovod/horovod/issues/2640",
    "world": "https://github.com/su2code/SU2/issues/1179",
    "not the world": "https://github.com/precice/precice/issues/21",
    "init twice": "https://github.com/NVIDIA/Megatron-LM/pull/521",
    "shut down": "https://github.com/horovod/horovod/issues/2975",
    "finalize": "https://roomy-eyeliner-ba9.notion.site/Getting-Started-on-mpi4py-84e39c304af24d698809e22fafc8319f",
}
