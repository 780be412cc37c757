"""Set-up puts this into .venv/etc/ipython, for each kernel of its Python."""

import os

from course.processes.surroundings.folder import folder_last
from course.processes.surroundings.machine import cores

folder_last()  # files beside a notebook hide no library
if cores() < len(os.sched_getaffinity(0)):  # torch counts the machine's cores, and knows of no quota
    os.environ.setdefault("OMP_NUM_THREADS", str(cores()))

# No database in the home, which may be full, or on a file server without locks. It is of earlier sessions only.
c = get_config()  # noqa: F821
c.HistoryManager.hist_file = ":memory:"
