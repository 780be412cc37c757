"""What the labs use: the world of MPI ranks, records of what the ranks did, data sets, models and figures."""

from course.processes.surroundings.folder import libraries_first

libraries_first()  # before any library is imported by the kit
