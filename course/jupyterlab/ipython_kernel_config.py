"""Set-up puts this into .venv/etc/ipython, for each kernel of its Python."""

from course.processes.surroundings.folder import folder_last

folder_last()  # files beside a notebook hide no library

# No database in the home, which may be full, or on a file server without locks. It is of earlier sessions only.
c = get_config()  # noqa: F821
c.HistoryManager.hist_file = ":memory:"
