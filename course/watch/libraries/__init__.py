"""What stands in for the calls of mpi4py, torch.distributed and Horovod, and writes them down."""
