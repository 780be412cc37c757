"""nbgrader in everybody's server: the hub's exchange, and the user's courses, which the hub knows."""

import os

from nbgrader.auth import JupyterHubAuthPlugin

from course.exchange.submit import hand_in_privately
from course.exchange.validating import accept_several_cells

c = get_config()  # noqa: F821
hand_in_privately(c, os.environ["LOCKSTEP_EXCHANGE"])
accept_several_cells()
c.Authenticator.plugin_class = JupyterHubAuthPlugin
c.CourseDirectory.student_id = os.environ["JUPYTERHUB_USER"]
c.Execute.timeout = 600  # seconds that a cell may take when a notebook is validated, on a crowded machine
