"""Configuration of the server of a course's formgrader."""

import os
from pathlib import Path

from course.processes.surroundings.proxies import spare_hub

spare_hub(os.environ)  # a proxy does not know the hub, which nbgrader asks

c = get_config()  # noqa: F821
c.ServerApp.jpserver_extensions = {
    "autograde.class_pages.grading": True,
    "autograde.class_pages.reports": True,
    "autograde.class_pages.text_answers": True,
    "course.jupyterhub.pages.formgrader": True,
    "nbgrader.server_extensions.assignment_list": False,
    "nbgrader.server_extensions.validate_assignment": False,
    "nbgrader.server_extensions.course_list": False,
    "nbgrader.server_extensions.formgrader": False,  # the one above loads it
    "ipyparallel": False,
}
# With debug, its pages would show tokens and paths.
c.FormgradeExtension.debug = False
c.ServerApp.default_url = "/formgrader"
# Nobody can log in as the grader's account, so its own shell says that, and ends.
c.ServerApp.terminado_settings = {"shell_command": ["bash"]}
# An instructor who is removed loses access in seconds, not after JupyterHub's five minutes.
c.HubAuth.cache_max_age = 5
hub = Path(__file__).resolve().parents[1]
lab = hub.parent / "jupyterlab"
c.LabApp.app_settings_dir = str(lab)
extensions = [str(folder / "labextensions") for folder in (lab, hub)]
c.LabApp.extra_labextensions_path = extensions
c.JupyterNotebookApp.extra_labextensions_path = extensions  # shows terminals
