"""The archive with what a lab's `check()` needs: what is in it, when it is made anew, and what its lack is told as."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from click.testing import CliRunner
from jupyter_server.services.contents.largefilemanager import LargeFileManager
from labs_under_test import COURSE
from small_course import CHECKS_PY, LAB, make_course

from autograde.cli import main
from autograde.making.archive import packed, renew
from course.lab_archive import ARCHIVE, ArchiveError, archive_files

FIGURE = "NAME = 'small'\n"
IMPORTED = "from course.lab.figures.small import NAME\nprint(NAME)"
CHECKER = "from autograde.notebook import Checker\nprint(*Checker(None).checks)"
EACH = pytest.mark.parametrize("text", [IMPORTED, CHECKER], ids=["an import", "the checks"])


@pytest.fixture
def built(course: Path) -> Path:
    """The folder of the small lab in `labs/`, which has a figure of its own."""
    folder = course / "solutions" / LAB / "figures"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "small.py").write_text(FIGURE)
    assert lockstep(course, "build").exit_code == 0
    return course / "labs" / LAB


def lockstep(course: Path, *arguments: str) -> object:
    """Run a command on a course."""
    return CliRunner(env={"LOCKSTEP_COURSE": str(course)}).invoke(main, arguments)


def python(folder: Path, text: str) -> str:
    """What a program prints that runs in this folder, or the last line of its error."""
    done = subprocess.run([sys.executable, "-P", "-c", text], cwd=folder, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else done.stderr.strip().splitlines()[-1]


def archives(course: Path) -> list[Path]:
    """The archives of the small lab: for instructors, and for students."""
    return [course / place / LAB / ARCHIVE for place in ("build/solutions", "labs")]


def test_what_a_notebook_imports_is_found_in_it(built):
    assert not (built / "figures").exists() and not (built / "checks").exists()
    assert python(built, IMPORTED) == "small"
    assert python(built, CHECKER) == "double total"


def test_the_file_browser_does_not_show_it(built):
    settings = (COURSE / "course" / "jupyterlab").rglob("*.json")
    assert not [path for path in settings if re.search("allow_hidden|showHiddenFiles", path.read_text())]
    listed = LargeFileManager(root_dir=str(built.parent)).get(LAB)["content"]
    assert {entry["name"] for entry in listed} == {f"{LAB}.ipynb", "data.txt", "run.sh"}


def test_an_author_who_works_in_the_source_needs_none(built, course):
    assert python(course / "solutions" / LAB, IMPORTED) == "small"


@EACH
def test_where_it_is_missing_one_sentence_says_what_makes_it(built, text):
    (built / ARCHIVE).unlink()
    said = python(built, text)
    assert said.startswith("course.lab_archive.ArchiveError: There is no .check.zip in ") and str(built) in said
    assert said.endswith("`./lockstep setup` makes it in a clone of Lockstep; elsewhere, fetch the lab again.")


def in_the_middle(content: bytes) -> bytes:
    at = content.index(b"NAME")
    return content[:at] + b"MANE" + content[at + 4 :]


DAMAGES = {
    "cut off": lambda content: content[:-30],
    "cut off early": lambda content: content[:100],
    "empty": lambda content: b"",
    "something else": lambda content: b"<html>Not Found</html>",
    "one letter": in_the_middle,
}


@EACH
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_where_it_is_damaged_one_sentence_says_what_makes_a_new_one(built, text, damage: Callable[[bytes], bytes]):
    (built / ARCHIVE).write_bytes(damage((built / ARCHIVE).read_bytes()))
    said = python(built, text)
    assert said.startswith(f"course.lab_archive.ArchiveError: {built / ARCHIVE}, with the checks of the lab, cannot be")
    assert said.endswith("makes a new one in a clone of Lockstep; elsewhere, delete it and fetch the lab again.")


def test_a_notebook_shows_that_sentence_and_no_traceback(tmp_path):
    with pytest.raises(ArchiveError) as raised:
        archive_files(tmp_path)
    assert raised.value._render_traceback_() == [str(raised.value)]
    assert "\n" not in str(raised.value)


def test_its_bytes_follow_from_what_is_in_the_files(built, course):
    folder, before = course / "solutions" / LAB, (built / ARCHIVE).read_bytes()
    for path in folder.rglob("*"):
        os.utime(path, (0, 0))
    (folder / "checks" / "double.py").chmod(0o755)
    (folder / "checks" / "__pycache__").mkdir()
    (folder / "checks" / "__pycache__" / "double.pyc").touch()
    (folder / "checks" / ".double.py.swp").touch()
    assert packed(folder) == before
    assert [path.read_bytes() for path in archives(course)] == [before, before]
    assert [*archive_files(built)] == sorted(archive_files(built))
    assert {name.partition("/")[0] for name in archive_files(built)} == {"checks", "figures", "probes"}


def test_it_is_made_anew_where_it_is_missing_damaged_or_old_and_only_there(built, course):
    path = built / ARCHIVE
    right = path.read_bytes()
    assert renew(course) == []
    path.unlink()
    assert renew(course) == [path] and path.read_bytes() == right
    path.write_bytes(right[:-1])
    assert renew(course) == [path] and path.read_bytes() == right
    make_course(course, checks=CHECKS_PY.replace("is not twice", "is no double of"))
    assert renew(course) == [path] and renew(course) == []
    assert b"is no double of" in archive_files(built)["checks/double.py"]
    path.unlink()
    built.rename(built.with_name("moved"))
    assert renew(course) == [] and not built.exists(), "what was not built is not begun"


def test_a_clone_in_which_somebody_works_gets_it_too(built, course):
    path = built / f"{LAB}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    notebook.cells[2].source = "def double(x):\n    return x * 2"
    nbformat.write(notebook, path)
    (built / ARCHIVE).unlink()
    assert "has work in cell double" in lockstep(course, "build").output
    assert archive_files(built) and "x * 2" in path.read_text()


def test_what_git_keeps_is_compared_without_it(built, course):
    (built / ARCHIVE).unlink()
    assert lockstep(course, "build", "--check").output == "labs/ is up to date\n"
    listed = subprocess.run(["git", "check-ignore", f"labs/{LAB}/{ARCHIVE}"], cwd=COURSE, capture_output=True)
    assert listed.returncode == 0 or not (COURSE / ".git").exists()


def start(course: Path) -> subprocess.CompletedProcess[str]:
    """What `./lockstep lab` and `setup` run."""
    command = [sys.executable, "-P", "-m", "autograde.making.archive"]
    environment = {**os.environ, "LOCKSTEP_COURSE": str(course)}
    return subprocess.run(command, env=environment, capture_output=True, text=True)


def test_the_start_of_jupyterlab_makes_it_or_says_in_a_line_why_not(built, course):
    (built / ARCHIVE).unlink()
    done = start(course)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "") and archive_files(built)
    (course / "course.toml").write_text("labs = 3")
    done = start(course)
    assert done.returncode == 0 and done.stderr.count("\n") == 1
    assert "lockstep: the checks of the labs may be missing or old: " in done.stderr and "course.toml" in done.stderr
