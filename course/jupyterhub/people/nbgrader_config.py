"""nbgrader in everybody's server: the hub's exchange, and the user's courses, which the hub knows."""

import os

from nbgrader.auth import JupyterHubAuthPlugin

from course.exchange.submit import hand_in_privately
from course.exchange.validation.validating import validate_as_graded

c = get_config()  # noqa: F821
hand_in_privately(c, os.environ["LOCKSTEP_EXCHANGE"])
c.Authenticator.plugin_class = JupyterHubAuthPlugin
c.CourseDirectory.student_id = os.environ["JUPYTERHUB_USER"]
validate_as_graded(c)
