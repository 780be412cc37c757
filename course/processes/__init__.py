"""How ranks are started, kept, replaced and ended: mpiexec, srun, the fork server, the reaper."""
