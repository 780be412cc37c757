"""*Validate* in JupyterLab, asked as the button asks: the server of `./lockstep lab`, whose labs lie behind a link."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from copy import deepcopy

import nbformat
import pytest
from classroom import REPOSITORY
from nbgrader.utils import compute_checksum
from server_address import address_of

from course.exchange.validation.validating import in_points

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
        text = nbformat.v4.new_markdown_cell("Your answer.", metadata=deepcopy(cell.metadata))
        text.metadata["nbgrader"] |= {"grade_id": "b", "points": 0, "solution": True, "locked": False}
        text.metadata["nbgrader"]["checksum"] = compute_checksum(text)  # it is left blank
        nbformat.write(nbformat.v4.new_notebook(cells=[cell, text]), lab / name)
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


def in_points_now(address: str) -> str:
    """What the last notebook that was validated makes in points, as the server tells it."""
    asked = urllib.request.Request(f"{address}assignments/validated", headers={"Authorization": f"token {TOKEN}"})
    with urllib.request.urlopen(asked, timeout=120) as answer:
        return json.load(answer)["said"]


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
    assert ('"failed": [' in said) == fails and '"said"' not in said
    passed = 0 if fails else 1
    assert in_points_now(address) == f"{passed} of 1 check passes, {passed} of 1 points."


@pytest.mark.parametrize("path", ["../outside.ipynb", "labs/../../outside.ipynb", "/etc/passwd"])
def test_nothing_outside_of_the_servers_folder_is_validated(address, path):
    assert validated(address, path)[0] == 403


def test_a_terminal_tells_points_and_calls_no_notebook_a_success(tmp_path):
    marks = {"grade": True, "schema_version": 3, "task": False}
    check = nbformat.v4.new_code_cell("assert True", metadata={"nbgrader": {**marks, "grade_id": "a", "points": 3}})
    check.metadata.nbgrader |= {"solution": False, "locked": True}
    text = nbformat.v4.new_markdown_cell("Because.", metadata={"nbgrader": {**marks, "grade_id": "b", "points": 2}})
    text.metadata.nbgrader |= {"solution": True, "locked": False}
    nbformat.write(nbformat.v4.new_notebook(cells=[check, text]), tmp_path / "a.ipynb")
    (tmp_path / "nbgrader_config.py").write_text(
        "from course.exchange.validation.validating import validate_as_graded\n"
        "c = get_config()\nvalidate_as_graded(c)\n"
    )
    command = [sys.executable, "-m", "nbgrader", "validate", "a.ipynb"]
    done = subprocess.run(
        command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(REPOSITORY)}, capture_output=True, text=True
    )
    assert done.stdout == (
        "1 of 1 check passes, 3 of 3 points. Your instructor gives up to 2 more for what you wrote.\n"
    ), done


def test_points_are_counted_over_all_checks_and_texts_are_left_to_the_instructor():
    assert in_points([(3, 3), (1.5, 2), (None, 2)]) == (
        "1 of 2 checks pass, 4.5 of 5 points. Your instructor gives up to 2 more for what you wrote."
    )
    assert in_points([(1, 1)] * 4) == "4 of 4 checks pass, 4 of 4 points."
