"""A lab made by `./lockstep new`: the example of solutions/README.md, from its folder to a graded class."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from classroom import REPOSITORY, Classroom
from labs_under_test import OUR_NAMES

from autograde.cells.subject import Subject
from autograde.contract import check as contract
from autograde.contract import show
from autograde.labs.folder import LabError, find_lab, load_checks, load_lab, load_variants
from autograde.making import new
from autograde.making.build import build, write
from autograde.making.new import make_lab

LAB = "15_my_lab"
RIGHT = "def pass_on(comm, x):\n    return comm.sendrecv(x, (comm.rank + 1) % comm.size)\n"
HANGS = "def pass_on(comm, x):\n    comm.ssend(x, (comm.rank + 1) % comm.size)\n    return comm.recv()\n"


@pytest.fixture(scope="module")
def room(tmp_path_factory):
    """A class whose course has this lab only."""
    room = Classroom(tmp_path_factory.mktemp("new") / "course", LAB)
    assert room.lockstep("new", LAB).exit_code == 0
    assert room.lockstep("build").exit_code == 0
    return room


def test_it_is_small_and_holds_to_its_variants(room, worlds):
    lab = find_lab(room.root, LAB)
    files = [path for name in ("checks", "probes") for path in (lab.folder / name).iterdir()]
    assert sum(bool(line.strip()) for path in files for line in path.read_text().splitlines()) < 80
    right, wrong = load_variants(lab.variants)
    (check,) = load_checks(lab.checks)
    answers = {name: (source, None) for name, source in right["pass_on"].items()}
    answers |= {name: (each.source, each.finding) for name, each in wrong["pass_on"].items()}
    assert len(wrong["pass_on"]) >= 5
    for name, (source, finding) in answers.items():
        result = contract.run(check, worlds.of(lab), Subject("pass_on", source), seed=1)
        keys = [each.key for each in result.findings]
        assert keys == ([finding] if finding else []), f"{name}\n{show.text(result)}"


@pytest.mark.thorough
def test_it_is_released_and_graded(room):
    room.put("ada", room.answered({"pass_on": RIGHT}))
    room.put("bob", room.answered({"pass_on": HANGS}))
    assert room.nbgrader("release_assignment", LAB).returncode == 0
    result = room.grade()
    assert result.exit_code == 0, result.output
    assert room.scores() == {"ada": 3, "bob": 0}


@pytest.mark.thorough
@pytest.mark.timeout(1800)
def test_it_passes_all_that_a_lab_has_to_pass(tmp_path):
    make_lab(tmp_path, LAB, tmp_path / "own")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--lab", LAB, "tests"]
    known = os.environ | {"LOCKSTEP_LABS": str(tmp_path / "own")}
    done = subprocess.run(command, cwd=REPOSITORY, env=known, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-5000:]


def test_ours_are_the_labs_that_this_repository_has():
    listed = ["git", "ls-files", "labs/*/run.sh"]
    found = subprocess.run(listed, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout.split()
    assert [Path(path).parent.name for path in found if (REPOSITORY / path).is_file()] == OUR_NAMES


def test_in_a_bundle_it_says_that_it_cannot(room, monkeypatch, tmp_path):
    monkeypatch.setattr(new, "REPOSITORY", tmp_path)  # a bundle has no solutions/
    said = room.lockstep("new", "14_other")
    assert said.exit_code == 1 and said.output.count("\n") == 1
    assert said.output.startswith("Error: a bundle cannot make labs: that takes solutions/README.md; use a clone")


def test_where_the_clone_is_closed_it_is_made_from_the_courses_own_guide(tmp_path, monkeypatch):
    monkeypatch.setattr(new, "REPOSITORY", tmp_path / "closed")
    room = Classroom(tmp_path / "course", "14_other")
    (room.root / "solutions").mkdir(parents=True)
    shutil.copy(REPOSITORY / "solutions" / "README.md", room.root / "solutions")
    (room.root / "course.toml").write_text('labs = ["90_another"]\n')
    said = room.lockstep("new", "14_other")
    made = room.root / "solutions" / "14_other"
    assert said.output.splitlines() == [
        f"{made}: made",
        f'Next: put "14_other" into the line `labs` of {room.root}/course.toml, then ./lockstep build 14_other',
    ]
    assert "# 14 Other" in (made / "lab.py").read_text()


def test_bad_names_and_a_folder_that_is_there_are_one_line_each(room, tmp_path):
    for name in ("lab", "1_lab", "14-lab", "14_Lab", "../14_lab", "14_"):
        said = room.lockstep("new", name)
        assert said.exit_code == 1 and said.output.count("\n") == 1 and "cannot be the name of a lab" in said.output
    said = room.lockstep("new", LAB)
    assert said.exit_code == 1 and said.output.count("\n") == 1 and "is there already" in said.output
    with pytest.raises(LabError, match="cannot be the name"):
        make_lab(tmp_path, "14_x/y")
    with pytest.raises(LabError, match="cannot be the name of a TODO"):
        make_lab(tmp_path, "20_other_one", todo="pass on")
    make_lab(tmp_path, "20_other_one", todo="neighbour_sum")
    built = build(find_lab(tmp_path, "20_other_one"))
    assert load_lab(built.lab).todos == ["neighbour_sum"]
    write(built, tmp_path)
    assert "# 20 Other one" in (tmp_path / "labs" / "20_other_one" / "20_other_one.ipynb").read_text()
