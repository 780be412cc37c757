"""*Validate* in JupyterLab, asked as the button asks: the server of `./lockstep lab`, whose labs lie behind a link."""

from __future__ import annotations

import os
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator

import nbformat
import pytest
from classroom import REPOSITORY
from server_address import address_of

TOKEN = "secret"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server with the settings for students, on a folder as `./lockstep lab` makes it."""
    folder = tmp_path_factory.mktemp("validate")
    lab = folder / "labs" / "90_small"
    lab.mkdir(parents=True)
    for name, source in {"90_small.ipynb": "assert True", "wrong.ipynb": "assert False"}.items():
        cell = nbformat.v4.new_code_cell(source)
        cell.metadata["nbgrader"] = {
            **{"grade": True, "grade_id": "a", "locked": True, "points": 1},
            **{"schema_version": 3, "solution": False, "task": False},
        }
        nbformat.write(nbformat.v4.new_notebook(cells=[cell]), lab / name)
    (folder / "seen").mkdir()
    (folder / "seen" / "labs").symlink_to(folder / "labs")
    nbformat.write(nbformat.v4.new_notebook(), folder / "outside.ipynb")
    state = {f"JUPYTER_{kind}_DIR": str(folder / kind.lower()) for kind in ("CONFIG", "DATA", "RUNTIME")}
    command = [sys.executable, "-m", "jupyter_server", "--no-browser", "--ip=127.0.0.1", "--port=0", "--allow-root"]
    command += [f"--ServerApp.root_dir={folder / 'seen'}", f"--IdentityProvider.token={TOKEN}"]
    environment = os.environ | state | {"JUPYTER_CONFIG_PATH": str(REPOSITORY / "course" / "jupyterlab" / "students")}
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(command, env=environment, cwd=folder, stdout=log, stderr=log)
    try:
        yield address_of(server, folder / "runtime", folder / "log")
    finally:
        server.terminate()
        server.wait()


def validated(address: str, path: str) -> tuple[int, str]:
    """The status and the text of what the server answers."""
    asked = urllib.request.Request(
        f"{address}assignments/validate",
        data=urllib.parse.urlencode({"path": path}).encode(),
        headers={"Authorization": f"token {TOKEN}"},
    )
    try:
        with urllib.request.urlopen(asked, timeout=120) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


FAILS = pytest.param("wrong", True, marks=pytest.mark.thorough)


@pytest.mark.parametrize(("name", "fails"), [("90_small", False), FAILS])
def test_a_notebook_behind_the_link_is_validated(address, name, fails):
    status, said = validated(address, f"labs/90_small/{name}.ipynb")
    assert status == 200 and said.startswith('{"success": true'), said
    assert ('"failed": [' in said) == fails


@pytest.mark.parametrize("path", ["../outside.ipynb", "labs/../../outside.ipynb", "/etc/passwd"])
def test_nothing_outside_of_the_servers_folder_is_validated(address, path):
    assert validated(address, path)[0] == 403
