"""A lab is one folder: whoever deletes it has a course that builds, and whose pages and maps hold, without it."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from labs_under_test import LABS
from seeds import SEED

from autograde.labs.folder import Lab
from autograde.labs.places import REPOSITORY

# Of what quickly tells of a trace that a lab left: imports, the map, and the pages that name labs.
QUICK = (
    "tests/test_imports.py",
    "tests/docs/test_docs.py",
    "tests/docs/test_gpu_guide.py",
    "tests/docs/test_plan.py",
    "tests/docs/test_product_pictures.py",
    "tests/labs/test_course_map.py",
    "tests/labs/test_glossary.py::test_no_term_is_left_without_a_link",
    "tests/lectures/test_lecture_texts.py::test_each_lab_names_the_lectures_that_come_before_it",
)
pytestmark = pytest.mark.timeout(900)  # imports all modules of all tests, which takes minutes on a busy machine
ONE = random.Random(SEED).choice(LABS)
QUIET = ("-q", "-p", "no:cacheprovider")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of all files that git knows, or would."""
    folder = tmp_path_factory.mktemp("tree")
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"]
    names = subprocess.run(listed, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout.split("\0")
    for name in filter(None, names):
        if (REPOSITORY / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(REPOSITORY / name, folder / name)
    return folder


def run(tree: Path, *command: str) -> None:
    """Run a module of Python in a tree, with the packages that are there. Fails with what it said."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "LOCKSTEP_"))}
    known = plain | {"PYTHONPATH": str(tree), "LOCKSTEP_COURSE": str(tree)}
    done = subprocess.run([sys.executable, "-m", *command], cwd=tree, env=known, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]


@pytest.mark.parametrize(
    "lab",
    [pytest.param(lab, marks=() if lab == ONE else pytest.mark.thorough) for lab in LABS],
    ids=lambda lab: lab.name,
)
def test_without_a_lab_the_others_build_and_pages_and_maps_hold(lab: Lab, tree: Path) -> None:
    left = next(other for other in LABS if other != lab)
    folders = [tree / place / lab.name for place in ("solutions", "labs")]
    aside = [folder.rename(tree.parent / f"{lab.name} of {folder.parent.name}") for folder in folders]
    try:
        run(tree, "autograde", "build", left.name)  # writes the map of all, too
        run(tree, "pytest", *QUIET, "--chosen", *QUICK)
        run(tree, "pytest", *QUIET, "--collect-only")
    finally:
        for there, folder in zip(aside, folders, strict=True):
            there.rename(folder)
