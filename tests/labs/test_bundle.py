"""A lab packed for a JupyterHub that is not ours: what is in it, that it runs by itself, and what goes wrong."""

from __future__ import annotations

import os
import tarfile
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
import pytest
from click.testing import CliRunner, Result
from example_labs import has_world, labs_with, todos_of
from filled_gradebook import deadline, filled
from labs_under_test import COURSE, LABS
from nbclient import NotebookClient
from seeds import SEED
from small_course import LAB as SMALL

from autograde.cli import main
from autograde.labs.folder import find_lab, solution_cells
from autograde.labs.places import REPOSITORY
from autograde.making import bundle as bundling
from autograde.making.bundle import bundle_files, packed
from course.exchange.due import deadline_here
from course.processes.kernels import over_files

[EXAMPLE] = labs_with(1, "that start ranks", has_world)
LAB, TODO = EXAMPLE.name, todos_of(EXAMPLE)[0]


def lockstep(*args: str | Path) -> Result:
    """Run `lockstep bundle` in this process."""
    return CliRunner().invoke(main, ["bundle", *map(str, args)], catch_exceptions=False)


def test_what_students_do_not_get_is_not_in_it():
    for lab in LABS:
        files = bundle_files(lab, None)
        assert {
            f"{lab.name}/{lab.notebook}",
            "kit/lockstep",
            "kit/LICENSE-CC-BY-4.0",
            "kit/pyproject.toml",
            "kit/course/world/__init__.py",
        } <= {*files}
        for word in ("solutions", "variants", "tests", "attacks", "class", "hub", "lab.py", ".venv", ".git", "bench"):
            assert [name for name in files if word in Path(name).parts] == [], word
        for name, file in files.items():
            if name.startswith(lab.name):
                assert b"BEGIN SOLUTION" not in file.content and b"BEGIN HIDDEN" not in file.content, name
            # A file of the clone may name a folder as an example, and the clone may be there.
            as_it_is = REPOSITORY / Path(name).relative_to(Path(name).parts[0])
            if not as_it_is.is_file() or as_it_is.read_bytes() != file.content:
                assert str(REPOSITORY).encode() not in file.content, name
            assert str(Path.home()).encode() not in file.content, name


def test_the_same_sources_make_the_same_bytes():
    lab = find_lab(COURSE, LAB)
    assert packed("a", bundle_files(lab, None)) == packed("a", bundle_files(lab, None))


def test_the_deadline_that_the_gradebook_has_is_in_it(tmp_path):
    room = filled(tmp_path / "course")
    for when, said in (("2027-01-31 22:59:00", "by 2027-01-31 22:59:00 UTC unless"), (None, "your course does it.")):
        deadline(room, when)
        target = tmp_path / f"{when}.tar.gz"
        assert room.lockstep("bundle", SMALL, str(target)).exit_code == 0
        with tarfile.open(target) as archive:
            archive.extractall(tmp_path / str(when), filter="data")
        folder = tmp_path / str(when) / f"{SMALL}-bundle"
        assert said in (folder / "README.txt").read_text()
        assert deadline_here(folder / SMALL) == (when and datetime.fromisoformat(when))


@pytest.mark.thorough  # what is in it is held by the tests above; the same notebooks run from labs/
@pytest.mark.timeout(900)
def test_unpacked_elsewhere_its_notebook_runs_and_checks_with_the_kit_that_came_with_it(tmp_path, monkeypatch):
    assert lockstep(LAB, tmp_path).output.startswith(str(tmp_path / f"{LAB}.tar.gz"))
    with tarfile.open(tmp_path / f"{LAB}.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    folder = tmp_path / f"{LAB}-bundle"
    assert os.access(folder / "kit" / "lockstep", os.X_OK) and os.access(folder / LAB / "run.sh", os.X_OK)
    notebook = nbformat.read(folder / LAB / f"{LAB}.ipynb", as_version=4)
    end = next(number for number, cell in enumerate(notebook.cells) if cell.id == f"{TODO}-check")
    notebook.cells = notebook.cells[: end + 1]
    notebook.cells[end - 1].source = solution_cells(EXAMPLE.source)[TODO]
    for cell in notebook.cells:
        cell.source = cell.source.replace("Checker(", f"Checker(seed={SEED}, world=")
    notebook.cells.append(
        nbformat.v4.new_code_cell("import autograde, course\nprint(autograde.__file__, course.__file__)")
    )
    notebook.cells.append(nbformat.v4.new_code_cell("print(*world.run(lambda: __import__('course').__file__))"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(folder / "kit"))  # in place of installing it, for which there is no network
    with TemporaryDirectory(prefix="kernel-") as short:
        settings = {"resources": {"metadata": {"path": str(folder / LAB)}}, "config": over_files(Path(short))}
        NotebookClient(notebook, timeout=240, kernel_name="python3", **settings).execute()
    check, here, on_ranks = notebook.cells[end:]
    assert f"{TODO}: passed" in str(check.outputs)
    for cell in (here, on_ranks):
        paths = cell.outputs[-1].text.split()
        assert paths and [path for path in paths if not path.startswith(str(folder / "kit"))] == []


def test_bad_input_is_one_clear_line(tmp_path, monkeypatch):
    (tmp_path / "there").write_text("mine")
    full = OSError(28, "No space left on device")
    cases = {
        ("99_no_lab", tmp_path): "no lab `99_no_lab`",
        (LAB, tmp_path / "there"): "is there already; move it away, or name another file",
        (LAB, tmp_path / "nowhere" / "x.tar.gz"): "is not written: No such file or directory",
    }
    for arguments, said in cases.items():
        result = lockstep(*arguments)
        assert result.exit_code == 1 and result.output.startswith("Error: ") and result.output.count("\n") == 1
        assert said in result.output
    assert (tmp_path / "there").read_text() == "mine"

    def no_room(path: Path, content: bytes) -> None:
        raise full

    monkeypatch.setattr(bundling, "write_whole", no_room)
    assert "No space left on device; it takes" in lockstep(LAB, tmp_path).output
    assert [path.name for path in tmp_path.iterdir()] == ["there"]
