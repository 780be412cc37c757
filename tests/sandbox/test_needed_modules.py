"""Which modules of `autograde` a sandbox shows: those that a lab's probes need, wherever they are imported."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest
from labs_under_test import LABS

from autograde.labs.folder import beside_students, load_checks
from autograde.labs.places import REPOSITORY
from autograde.sandbox.needed_modules import modules_needed

PROGRAM = """
import pathlib
from autograde.contract.lab_package import LabPackage
files = {f"{path.parent.name}/{path.name}": path.read_text() for path in pathlib.Path("lab").rglob("*.py")}
print(sorted(LabPackage.of(files, "").probes()))
"""


def test_modules_are_followed_wherever_they_are_imported():
    def needed(text: str, *start: str) -> set[str]:
        return {path.relative_to(REPOSITORY / "autograde").as_posix() for path in modules_needed([text], *start)}

    assert needed("") == {"__init__.py"}
    assert needed("from autograde.cells import subject") == {
        "__init__.py",
        *(f"cells/{name}.py" for name in ("__init__", "cell_code", "parsing", "salted_hash", "subject")),
    }
    assert needed("def f():\n    import autograde.contract.show as g") == {
        "__init__.py",
        *(f"contract/{name}.py" for name in ("__init__", "result", "show")),
    }
    assert needed("", "autograde.install.kit") >= {"__init__.py", "install/__init__.py", "install/kit.py"}
    assert needed("import autogrades, numpy.random") == {"__init__.py"}
    with pytest.raises(ValueError, match="no module autograde"):
        needed("", "autograde.missing")


@pytest.mark.sample(1)
@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)
def test_what_a_lab_needs_of_autograde_runs_where_nothing_else_is(lab, tmp_path):
    files = beside_students(lab.folder)
    for path in modules_needed(files.values(), "autograde.contract.lab_package"):
        (tmp_path / path.relative_to(REPOSITORY)).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, tmp_path / path.relative_to(REPOSITORY))
    shutil.copytree(REPOSITORY / "course", tmp_path / "course")
    for name, text in files.items():
        (tmp_path / "lab" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "lab" / name).write_text(text)
    ran = subprocess.run([sys.executable, "-c", PROGRAM], cwd=tmp_path, capture_output=True, text=True, timeout=240)
    assert ran.stdout.strip() == str(sorted(check.todo for check in load_checks(lab.checks))), ran.stderr
