"""*Validate* in JupyterLab, in points, and where labs lie behind a link: an extension of Jupyter's server.

In `./lockstep lab` they do. nbgrader follows the link, and refuses what it then finds outside of the server's folder
(403, which JupyterLab shows as "Unexpected token '<'"). JupyterLab itself opens and saves notebooks behind links.
"""

from __future__ import annotations

import os
from pathlib import Path

from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.serverapp import ServerApp
from jupyter_server.utils import url_path_join
from nbgrader.server_extensions.validate_assignment import handlers
from nbgrader.server_extensions.validate_assignment.handlers import ValidateAssignmentHandler
from tornado import web
from tornado.web import HTTPError
from traitlets.config import Config

from course.exchange.validation.validating import CountingValidator, validate_as_graded

SAID = "lockstep_validated"  # a setting of the server: what the last notebook that was validated makes in points


class ValidateBehindLinks(ValidateAssignmentHandler):
    """nbgrader's handler, for each notebook that is in the server's folder by its path, as for JupyterLab."""

    _folder = ""  # of the notebook that is validated

    @property
    def root_dir(self) -> str:
        """The folder that nbgrader looks for the notebook in."""
        return self._folder

    def load_config(self) -> Config:
        """nbgrader's configuration, with `validate_as_graded` wherever the server was started."""
        config = super().load_config()
        validate_as_graded(config)
        return config

    def validate_notebook(self, path: str) -> dict:
        """What nbgrader says of the notebook at `path`. Raises HTTPError for one outside of the server's folder."""
        root = Path(self.settings["root_dir"])
        notebook = Path(os.path.normpath(root / path))
        if not notebook.is_relative_to(root):
            raise HTTPError(403, f"{path} is outside of this server's folder")
        self._folder = str(notebook.parent.resolve())
        answer = super().validate_notebook(notebook.name)
        found = answer["value"] if answer["success"] else {}
        self.settings[SAID] = found.pop("said", "")
        return answer


class Validated(JupyterHandler):
    """What the last *Validate* in this server makes in points, for the dialog, which nbgrader fills without it."""

    @web.authenticated
    def get(self) -> None:
        """The sentence."""
        self.finish({"said": self.settings.get(SAID, "")})


def _load_jupyter_server_extension(app: ServerApp) -> None:
    """Serve what nbgrader's extension would."""
    app.web_app.settings["root_dir"] = os.path.normpath(app.root_dir)
    base = app.web_app.settings["base_url"]
    ours = {ValidateAssignmentHandler: ValidateBehindLinks}
    handlers.Validator = CountingValidator  # which nbgrader's handler makes
    known = [(url_path_join(base, path), ours.get(handler, handler)) for path, handler in handlers.default_handlers]
    app.web_app.add_handlers(".*$", [*known, (url_path_join(base, "assignments/validated"), Validated)])
