"""JupyterLab of everybody on the hub: what takes part in a course, and nothing of what grades one."""

from pathlib import Path

c = get_config()  # noqa: F821
c.ServerApp.jpserver_extensions = {
    "nbgrader.server_extensions.assignment_list": True,
    "nbgrader.server_extensions.validate_assignment": True,
    "nbgrader.server_extensions.course_list": False,
    "nbgrader.server_extensions.formgrader": False,
}
# JupyterLab as `./lockstep lab` has it: no questions to the network, and the table of contents open.
lab = Path(__file__).resolve().parents[2] / "jupyterlab"
c.LabApp.app_settings_dir = str(lab)
c.LabApp.extra_labextensions_path = [str(lab / "labextensions")]
