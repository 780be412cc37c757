"""Configuration of everybody's JupyterLab on the hub: it has what students need, and nothing for grading."""

import os
import sys
from pathlib import Path

from course.homes.settings import put_damaged_aside
from course.homes.signatures import keep_signatures
from course.processes.surroundings.proxies import spare_hub

# Students may have a proxy, to install packages through it. It does not know the hub, which the pages below ask.
spare_hub(os.environ)

c = get_config()  # noqa: F821
c.ServerApp.jpserver_extensions = {
    "course.exchange.validation.validate_handler": True,  # loads what nbgrader's would
    "course.jupyterhub.pages.your_labs": True,
    "nbgrader.server_extensions.assignment_list": True,
    "nbgrader.server_extensions.validate_assignment": False,
    "nbgrader.server_extensions.course_list": False,
    "nbgrader.server_extensions.formgrader": False,
    "ipyparallel": False,
}
# As in `./lockstep lab`: no requests to the network, and an open table of contents. Here, a way back to the labs, too.
hub = Path(__file__).resolve().parents[1]
lab = hub.parent / "jupyterlab"
c.LabApp.app_settings_dir = str(lab)
c.LabApp.extra_labextensions_path = [str(folder / "labextensions") for folder in (lab, hub, hub / "people")]
# What somebody has in the home for other servers may not fit this one, and then JupyterLab would not open.
c.LabApp.labextensions_path = [str(Path(sys.prefix, "share", "jupyter", "labextensions"))]
# What is deleted makes room in the home; nobody sees a trash here.
c.FileContentsManager.delete_to_trash = False
c.FileContentsManager.always_delete_dir = True
keep_signatures(c)
put_damaged_aside()
