"""nbgrader on this course. It is read where `nbgrader` and JupyterLab are started; `lockstep grade` reads it always.

LOCKSTEP_COURSE names another folder, with its own `solutions/` or `course.toml`, if the course is not this repository.
"""

import os
import sys
from pathlib import Path

repository = Path(__file__).resolve().parent
sys.path.insert(0, str(repository))

from autograde.classroom.configuration import configure  # noqa: E402

c = get_config()  # noqa: F821
c.CourseDirectory.course_id = "lockstep"
configure(c, os.environ.get("LOCKSTEP_COURSE") or repository)
