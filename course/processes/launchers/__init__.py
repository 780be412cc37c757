"""What starts the processes of a world: mpiexec, srun, or neither."""
