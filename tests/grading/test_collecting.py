"""What is collected from the exchange is what a student put there, and nothing that it leads to."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from classroom import Classroom
from small_course import ANSWERS, LAB, make_course

from autograde.hints import note_taken, read_taken

# All hand in as the account that runs the tests. tests/hub/test_exchange.py has an account for each.
ONE_ACCOUNT = "c.ExchangeCollect.check_owner = False"
SECRET = "what only the instructor may read"


@pytest.fixture
def room(tmp_path: Path) -> Classroom:
    """A class whose student ada handed in links, a pipe and a folder beside her notebook."""
    (tmp_path / "secret").write_text(SECRET)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "inside").write_text(SECRET)
    room = Classroom(make_course(tmp_path / "course"), LAB, config=ONE_ACCOUNT)
    assert room.lockstep("build").exit_code == 0
    released = room.nbgrader("release_assignment", LAB)
    assert released.returncode == 0, released.stderr
    room.submit("ada", room.answered({"double": ANSWERS["double"]}))
    (handed_in,) = (room.exchange / "lockstep" / "inbound").glob("ada+*")
    (handed_in / "notes").mkdir()
    (handed_in / "notes" / "more.txt").write_text("her own")
    note_taken(handed_in, "double", 2)
    (handed_in / "stolen.txt").symlink_to(tmp_path / "secret")
    (handed_in / "stolen").symlink_to(tmp_path / "folder")
    os.mkfifo(handed_in / "pipe")
    return room


def collected(room: Classroom) -> set[str]:
    """Paths of all files that are in ada's folder now; none of them holds the secret."""
    folder = room.root / "class" / "submitted" / "ada" / LAB
    files = [path for path in folder.rglob("*") if not path.is_dir() or path.is_symlink()]
    assert not any(path.is_symlink() or SECRET in path.read_text() for path in files)
    return {str(path.relative_to(folder)) for path in files}


@pytest.mark.thorough
def test_lockstep_grade_collects_no_links_and_no_pipes(room):
    assert room.lockstep("grade", LAB, "--no-sandbox").exit_code == 0
    assert collected(room) >= {f"{LAB}.ipynb", "timestamp.txt", "notes/more.txt"}
    assert read_taken(room.root / "class" / "submitted" / "ada" / LAB) == {"double": 2}
    assert not collected(room) & {"stolen.txt", "stolen", "stolen/inside", "pipe"}
    assert room.scores() == {"ada": 2}


@pytest.mark.thorough
def test_nbgraders_own_collect_does_the_same(room):
    done = room.nbgrader("collect", LAB)
    assert done.returncode == 0, done.stderr
    assert not collected(room) & {"stolen.txt", "stolen", "stolen/inside", "pipe"}
    assert "stolen.txt is not collected: it is no regular file" in done.stderr


@pytest.mark.thorough
def test_what_is_handed_in_from_another_account_is_not_collected(room):
    room.config = "c.ExchangeCollect.check_owner = True"
    done = room.nbgrader("collect", LAB)
    assert done.returncode == 0, done.stderr
    assert "it says that it is ada's, but is owned by" in done.stderr
    assert collected(room) == set()


@pytest.mark.thorough
def test_a_notebook_that_is_a_link_is_missing_from_the_submission(room):
    (handed_in,) = (room.exchange / "lockstep" / "inbound").glob("ada+*")
    (handed_in / f"{LAB}.ipynb").unlink()
    (handed_in / f"{LAB}.ipynb").symlink_to(room.root / "build" / "solutions" / LAB / f"{LAB}.ipynb")
    room.lockstep("grade", LAB)
    assert room.scores() == {"ada": 0}
    assert f"there is no {LAB}.ipynb in the submission" in room.rows()["ada"]["problems"]


@pytest.mark.thorough
@pytest.mark.parametrize("ours", [True, False])
def test_links_that_are_in_submitted_already_lead_nothing_into_the_graded_folder(room, ours):
    folder = room.put("bob", room.answered({}))
    (folder / "stolen.txt").symlink_to(room.root.parent / "secret")
    (folder / "mine.txt").write_text("his own")
    if ours:
        assert room.grade("--student", "bob").exit_code == 0
    else:
        assert room.nbgrader("generate_assignment", LAB, "--force").returncode == 0
        done = room.nbgrader("autograde", LAB, "--student=bob", "--create")
        assert done.returncode == 0, done.stderr
    graded = room.root / "class" / "autograded" / "bob" / LAB
    assert (graded / "mine.txt").read_text() == "his own"
    assert not (graded / "stolen.txt").exists()
