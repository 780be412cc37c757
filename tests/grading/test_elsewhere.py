"""Work that is not where the lab's notebook belongs is graded, or waits for a person: nothing is 0 in silence."""

from __future__ import annotations

import copy
import json
import os
import zipfile
from pathlib import Path

import pytest
from nbformat import NotebookNode
from small_course import ANSWERS, LAB, make_course

from autograde.classroom.submissions.elsewhere import MOST_COPIED, MOST_NAMES, elsewhere, how_many
from autograde.classroom.submissions.submission import Submission, read_submission, to_grade
from autograde.labs.folder import LoadedLab, find_lab, load_lab
from autograde.making.build import instructor_notebook, release
from course.exchange.limits import MAX_NOTEBOOK

USUAL = f"{LAB}.ipynb"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> LoadedLab:
    """The small lab."""
    return load_lab(find_lab(make_course(tmp_path_factory.mktemp("course")), LAB))


@pytest.fixture(scope="module")
def released(lab: LoadedLab) -> NotebookNode:
    """The lab as students get it."""
    return release(instructor_notebook(lab))


@pytest.fixture
def solved(released: NotebookNode) -> bytes:
    """The lab with its answers."""
    notebook = copy.deepcopy(released)
    for cell in notebook.cells:
        cell.source = ANSWERS.get(cell.id, cell.source)
    return json.dumps(notebook).encode()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a submission is."""
    (tmp_path / "ada" / LAB).mkdir(parents=True)
    return tmp_path / "ada" / LAB


def graded(lab: LoadedLab, folder: Path, released: NotebookNode) -> tuple[Submission, int]:
    """The submission, and how many of its TODOs are written."""
    submission = to_grade(lab, folder, read_submission(folder / USUAL), released)
    return submission, len(ANSWERS) - len(submission.answers.blank)


@pytest.mark.parametrize(
    "where",
    [
        f"{LAB}/{USUAL}",
        f"{USUAL}.json",
        f"{LAB}-Copy1.ipynb",
        "a/b/lab.ipynb",
        f"{LAB}_2.json",
        f"work.zip/{LAB}/{USUAL}",
    ],
)
@pytest.mark.parametrize("usual", ["missing", "blank"])
def test_the_only_notebook_with_work_in_it_is_graded(lab, folder, released, solved, where, usual):
    if usual == "blank":
        (folder / USUAL).write_text(json.dumps(released))
    if ".zip/" in where:
        archive, _, member = where.partition("/")
        with zipfile.ZipFile(folder / archive, "w") as file:
            file.writestr(member, solved)
            file.writestr(f"__MACOSX/{member}", solved)
    else:
        (folder / where).parent.mkdir(parents=True, exist_ok=True)
        (folder / where).write_bytes(solved)
    submission, written = graded(lab, folder, released)
    assert written == 2
    assert submission.answers.sources == ANSWERS
    assert submission.rebuilt.manual is None
    assert f"`{where}` is graded in its place" in submission.rebuilt.problems[0]


def test_an_archive_that_windows_has_packed_is_looked_into(lab, folder, released, solved):
    with zipfile.ZipFile(folder / "work.zip", "w") as file:
        file.writestr("L_sung\\lab.ipynb", solved)
        file.writestr("__MACOSX\\lab.ipynb", b"no notebook")
    (folder / "work.zip").write_bytes((folder / "work.zip").read_bytes().replace(b"L_sung", b"L\x94sung"))
    submission, written = graded(lab, folder, released)
    assert written == 2 and "`work.zip/L?sung/lab.ipynb` is graded in its place" in submission.rebuilt.problems[0]


def test_several_wait_for_a_person(lab, folder, released, solved):
    (folder / "one.ipynb").write_bytes(solved)
    (folder / "two.ipynb").write_bytes(solved.replace(b"2 * x", b"3 * x"))
    submission, written = graded(lab, folder, released)
    assert written == 0
    assert "one.ipynb" in submission.rebuilt.manual and "two.ipynb" in submission.rebuilt.manual


@pytest.mark.parametrize("name", ["lab.rar", "damaged.zip", "90_small.py", "work/90_small.html", "report.pdf"])
def test_files_that_nobody_here_reads_wait_for_a_person_where_there_is_no_notebook(lab, folder, released, name):
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_bytes(b"PK\x03\x04 no archive")
    (folder / "timestamp.txt").write_text("2025-01-01 10:00:00 UTC")
    (folder / "checks").mkdir()
    (folder / "checks" / "double.py").touch()
    handed_in = read_submission(folder / USUAL)
    assert handed_in.unread == (name,) and handed_in.fingerprint != "no file"
    submission, written = graded(lab, folder, released)
    assert written == 0 and f"`{name}`" in submission.rebuilt.manual
    (folder / USUAL).write_text(json.dumps(released))
    submission, _ = graded(lab, folder, released)
    assert bool(submission.rebuilt.manual) == name.endswith((".rar", ".zip")), "what is blank is blank"


def test_nothing_at_all_is_blank(lab, folder, released):
    (folder / "timestamp.txt").write_text("2025-01-01 10:00:00 UTC")
    submission, written = graded(lab, folder, released)
    assert (written, submission.rebuilt.manual) == (0, None)


def test_the_same_work_in_two_places_is_graded(lab, folder, released, solved):
    for name in ("one.ipynb", "two.ipynb"):
        (folder / name).write_bytes(solved)
    submission, written = graded(lab, folder, released)
    assert (written, submission.rebuilt.manual) == (2, None)


def test_what_is_blank_in_its_own_place_and_written_in_another_waits_for_a_person(lab, folder, released, solved):
    (folder / f"{LAB}-Copy1.ipynb").write_bytes(solved)
    begun = copy.deepcopy(released)
    for cell in begun.cells:
        cell.source = ANSWERS["double"] if cell.id == "double" else cell.source
    (folder / USUAL).write_text(json.dumps(begun))
    submission, written = graded(lab, folder, released)
    assert written == 1
    assert submission.rebuilt.manual == f"`total`: blank in {USUAL}, written in `{LAB}-Copy1.ipynb`"


def test_where_the_only_work_may_be_in_what_is_too_large_to_be_read_a_person_looks(lab, folder, released, solved):
    (folder / USUAL).write_text(json.dumps(released))
    (folder / "mine.ipynb").write_bytes(solved.ljust(MAX_NOTEBOOK + 1))
    submission, written = graded(lab, folder, released)
    assert written == 0 and submission.rebuilt.manual == "there may be work in `mine.ipynb`, which cannot be read"
    (folder / "mine.ipynb").write_bytes(solved.ljust(MAX_NOTEBOOK))
    submission, written = graded(lab, folder, released)
    assert written == len(ANSWERS) and not submission.rebuilt.manual


def test_work_in_its_own_place_is_what_counts(lab, folder, released, solved):
    (folder / USUAL).write_bytes(solved)
    (folder / f"{LAB}-Copy1.ipynb").write_text(json.dumps(released))
    submission, written = graded(lab, folder, released)
    assert (written, submission.rebuilt.problems) == (2, [])


def test_what_is_blank_everywhere_is_blank(lab, folder, released):
    for name in (USUAL, f"{LAB}-Copy1.ipynb"):
        (folder / name).write_text(json.dumps(released))
    submission, written = graded(lab, folder, released)
    assert (written, submission.rebuilt.problems, submission.rebuilt.manual) == (0, [], None)


def test_a_copy_that_changes_is_a_newer_submission(folder, solved):
    (folder / "work.ipynb").write_bytes(solved)
    before = read_submission(folder / USUAL).fingerprint
    (folder / "work.ipynb").write_bytes(solved + b" ")
    assert read_submission(folder / USUAL).fingerprint != before


def test_links_checkpoints_damaged_archives_and_thousands_of_files_do_no_harm(folder, solved):
    secret = folder.parent.parent / "secret.ipynb"
    secret.write_bytes(solved)
    (folder / "link.ipynb").symlink_to(secret)
    (folder / "loop").symlink_to(folder)
    os.mkfifo(folder / "pipe.ipynb")
    (folder / ".ipynb_checkpoints").mkdir()
    (folder / ".ipynb_checkpoints" / USUAL).write_bytes(solved)
    (folder / "damaged.zip").write_bytes(b"PK\x03\x04 no archive")
    assert [(one.where, one.raw) for one in elsewhere(folder, USUAL)] == [("link.ipynb", None), ("pipe.ipynb", None)]
    (folder / "many").mkdir()
    for number in range(MOST_NAMES + 10):
        (folder / "many" / f"{number}.txt").touch()
    (folder / "many" / "z").mkdir()
    (folder / "many" / "z" / "deep.ipynb").write_bytes(solved)
    assert len(elsewhere(folder, USUAL)) == 2, "beyond a limit, nothing is looked at"
    assert how_many(folder) == MOST_NAMES


@pytest.mark.parametrize(("count", "told"), [(MOST_COPIED - 1, False), (MOST_COPIED, True), (MOST_NAMES, True)])
def test_very_many_files_beside_the_notebook_are_counted_and_told(lab, folder, released, solved, count, told):
    (folder / USUAL).write_bytes(solved)
    for number in range(count):
        (folder / f"{number}.dat").touch()
    submission, written = graded(lab, folder, released)
    assert (written, submission.rebuilt.manual) == (2, None)
    assert any("beside the notebook" in problem for problem in submission.rebuilt.problems) == told
    (folder / USUAL).unlink()
    submission, _ = graded(lab, folder, released)
    assert bool(submission.rebuilt.manual) == (count == MOST_NAMES), "work may be where nobody looked"
