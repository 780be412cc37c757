"""Set-up puts this into .venv/etc/ipython, for each kernel of its Python: files beside a notebook hide no library."""

from course.processes.surroundings.folder import folder_last

folder_last()
