"""What the labs compute with and look at: the world of MPI ranks, what the ranks did, data and figures."""
