"""What the labs use: the world of MPI ranks, records of what the ranks did, data sets, models and figures."""
