"""The server of a course's formgrader."""

from pathlib import Path

c = get_config()  # noqa: F821
c.ServerApp.jpserver_extensions = {
    "nbgrader.server_extensions.assignment_list": False,
    "nbgrader.server_extensions.validate_assignment": False,
    "nbgrader.server_extensions.course_list": False,
    "nbgrader.server_extensions.formgrader": True,
}
# Its tokens and paths are nobody's business on a page.
c.FormgradeExtension.debug = False
c.ServerApp.default_url = "/formgrader"
# An instructor who is taken out is out in seconds, not in JupyterHub's five minutes.
c.HubAuth.cache_max_age = 5
lab = Path(__file__).resolve().parents[2] / "jupyterlab"
c.LabApp.app_settings_dir = str(lab)
c.LabApp.extra_labextensions_path = [str(lab / "labextensions")]
