"""Records the ranks' calls of mpi4py, torch.distributed and Horovod."""
