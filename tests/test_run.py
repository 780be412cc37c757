"""`./lockstep test`: what it is asked for, and what failed beside others is looked at alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from labs_under_test import LABS

ROOT = Path(__file__).parents[1]
# The first test fails the first time, and only then.
TESTS = '''"""Small tests."""

from pathlib import Path


def test_once():
    seen = Path(__file__).with_name("seen")
    again = seen.exists()
    seen.touch()
    assert again, "the first time is hard"


def test_never():
    assert NEVER, "it is wrong"
'''


def run_tests(*arguments: str, root: Path = ROOT) -> subprocess.CompletedProcess:
    """`./lockstep test`, after its set-up."""
    command = [sys.executable, "tests/run.py", *arguments]
    plain = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
    return subprocess.run(command, cwd=root, env=plain, capture_output=True, text=True)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A folder with the command and room for tests."""
    (tmp_path / "tests" / "support").mkdir(parents=True)
    for name in ("run.py", "support/failures.py"):
        shutil.copy(ROOT / "tests" / name, tmp_path / "tests" / name)
    (tmp_path / "tests" / "conftest.py").write_text(
        "from failures import add_option as pytest_addoption\n"
        "from failures import register as pytest_configure\n\n"
        '__all__ = ["pytest_addoption", "pytest_configure"]\n'
    )
    lint = '[tool.ruff]\nline-length = 120\n[tool.ruff.lint]\nselect = ["E", "F"]\n'
    (tmp_path / "pyproject.toml").write_text('[tool.pytest.ini_options]\npythonpath = ["tests/support"]\n' + lint)
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--all", "--part", "7/6"], "7/6 is no part: K/N is the K-th of N parts, as in 2/8"),
        (["--all", "--part", "0/6"], "0/6 is no part"),
        (["--all", "--part", "x"], "x is no part"),
        (["--part", "1/6"], "--part is of --all"),
        (["--lab", "nobody"], f"no lab nobody; there are {LABS[0].name}, "),
        (["--seed"], "--seed: expected one argument"),
        (["--seed", "x"], "x is no seed: a seed is a whole number, as in --seed 7"),
    ],
)
def test_what_makes_no_sense_is_one_line(arguments, said):
    done = run_tests(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("lockstep test: ") and said in line


@pytest.mark.parametrize("never", [True, False])
def test_what_passes_alone_is_listed_and_what_fails_again_fails_the_command(small, never):
    (small / "tests" / "test_small.py").write_text(TESTS.replace("NEVER", str(never)))
    done = run_tests("tests", root=small)
    listed = done.stdout.partition(" passed only alone ")[2]
    assert "test_small.py::test_once" in listed and "the first time is hard" in listed, done.stdout + done.stderr
    assert ("failed, also alone: tests/test_small.py::test_never" in listed) != never
    assert done.returncode == (0 if never else 1), done.stdout


def test_a_file_that_is_no_test_fails_the_command(small):
    (small / "tests" / "test_small.py").write_text("def test(:")
    assert run_tests("tests", root=small).returncode == 1
    assert run_tests("nowhere", root=small).returncode == 1
