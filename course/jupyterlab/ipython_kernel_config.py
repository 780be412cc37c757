"""Set-up puts this into .venv/etc/ipython, for each kernel of its Python: files beside a notebook hide no library, and
torch computes with as many threads as there is processor time for."""

import os

from course.processes.surroundings.folder import folder_last
from course.processes.surroundings.machine import cores

folder_last()
if cores() < len(os.sched_getaffinity(0)):  # torch counts the machine's cores, and knows of no quota
    os.environ.setdefault("OMP_NUM_THREADS", str(cores()))
