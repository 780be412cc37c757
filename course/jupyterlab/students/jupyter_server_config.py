"""Beside jupyter_server_config.json: what follows from where JupyterLab runs."""

import os
import sys
from pathlib import Path

from course.homes.look import NOT_COPIED
from course.homes.settings import put_damaged_aside
from course.homes.signatures import keep_signatures

c = get_config()  # noqa: F821
keep_signatures(c)
put_damaged_aside()
if NOT_COPIED in os.environ:  # in a container, where `jupyterhub-singleuser` may be the command
    here = Path(__file__).resolve().parent
    c.LabApp.app_settings_dir = str(here.parent)
    c.LabApp.extra_labextensions_path = [str(here.parent / "labextensions"), str(here / "labextensions")]
    # What somebody has in the home for other servers may not fit this one, and then JupyterLab would not open.
    c.LabApp.labextensions_path = [str(Path(sys.prefix, "share", "jupyter", "labextensions"))]
    # What is deleted makes room; nobody sees a trash here.
    c.FileContentsManager.delete_to_trash = False
    c.FileContentsManager.always_delete_dir = True
