"""Fixtures of all tests. A world takes seconds to start, so tests share one."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from labs_under_test import COURSE
from quick_tests import LONG
from running_hub import Hub, running_hub
from slurm_cluster import running_cluster
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from autograde.contract.labs import Lab, LabError, find_lab
from course.processes.slurm import SHARED
from course.world import World

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# Chromium neither asks for the network nor for a sandbox, which root does not get.
CHROMIUM = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-sync"]
# How names of groups begin, the longest groups first: short ones fill what is left of the workers' time at the end.
LONG_FIRST = ("hub", "slurm", "tests/lectures/test_site", "attacks", "tests/grading", "tests/attacks", "tests/mutants")
LONG_FIRST += ("tests/world", "tests/install", "tests/hub", "tests/course", "tests/checks")
LONG_FIRST += ("tests/labs/test_lab_", "tests/")


class Together(LoadScopeScheduling):
    """Gives each worker one group of tests after the other. What is dear to start is started once in a group."""

    def _split_scope(self, nodeid: str) -> str:
        return group(nodeid)


def group(nodeid: str) -> str:
    """Whose tests run on one worker: those of the hub, those of Slurm, a group of attackers, a lab's TODO, a module."""
    path, _, rest = nodeid.partition("::")
    if path.startswith(("tests/hub/test_hub_", "tests/browser/")):
        return "hub"
    if path.startswith("tests/slurm/"):
        return "slurm"
    parameters = rest.partition("[")[2].strip("]").split("-")
    if path == "tests/attacks/test_attacks.py":
        return "attacks on memory" if parameters[0] in ("bombs", "floods") else f"attacks {parameters[0]}"
    if path.startswith("tests/labs/") or ("[" in rest and parameters[0][:2].isdigit()):
        return "-".join([path, *parameters[:2]])
    return path


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Together | None:
    """What `--dist loadscope` does here. (Marks for `--dist loadgroup` are not heard by xdist 3.8 with pytest 9.)"""
    return Together(config, log) if config.getvalue("dist") == "loadscope" else None


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options that choose tests, see their help."""
    parser.addoption("--lab", metavar="NAME", help="run only the tests of this lab: its build, checks and notebook")
    parser.addoption("--quick", action="store_true", help="leave out the longest tests: what most changes break, soon")
    parser.addoption("--every-mistake", action="store_true", help="hold all known mistakes against 20 seeds, for hours")


def pytest_configure(config: pytest.Config) -> None:
    """Refuse a lab that is not there."""
    if name := config.getoption("lab"):
        try:
            find_lab(COURSE, name)
        except LabError as error:
            raise pytest.UsageError(str(error)) from None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests that have this lab as a parameter."""
    name = config.getoption("lab")

    def is_of_lab(item: pytest.Item) -> bool:
        parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
        return any(isinstance(value, Lab) and value.name == name for value in parameters)

    for item in items:
        if group(item.nodeid) == "hub":
            item.add_marker(pytest.mark.timeout(900), append=False)  # its start alone takes minutes on a busy machine
    items.sort(key=lambda item: [group(item.nodeid).startswith(first) for first in LONG_FIRST].index(True))
    if name:
        config.hook.pytest_deselected(items=[item for item in items if not is_of_lab(item)])
        items[:] = filter(is_of_lab, items)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave alone the modules of which `-m` or `--lab` leaves all tests out: importing all of them takes ten seconds,
    and each worker does."""
    marks = config.getvalue("markexpr")
    if not collection_path.match("test_*.py"):
        return None
    source = collection_path.read_text()
    if config.getoption("lab") and "LABS" not in source:
        return True
    if config.getoption("quick"):
        return True if collection_path.relative_to(config.rootpath).as_posix().startswith(LONG) else None
    if marks == "alone":
        unwanted = "mark.alone" not in source
    else:
        unwanted = marks == "not alone" and re.search(r"^pytestmark = .*mark\.alone", source, re.MULTILINE)
    return True if unwanted else None


@pytest.fixture(scope="session")
def slurm_conf() -> Iterator[str]:
    """Path of the slurm.conf of a cluster of two nodes, which runs as long as the tests."""
    with running_cluster() as folder:
        yield str(folder / "slurm" / "slurm.conf")


@pytest.fixture(scope="module")
def on_slurm(slurm_conf: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The tests of a module are on a cluster of two nodes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLURM_CONF", slurm_conf)
        patch.setenv(SHARED, str(tmp_path_factory.mktemp("shared")))
        yield


@pytest.fixture(scope="session")
def world() -> Iterator[World]:
    """Four real MPI ranks."""
    with World(4, progress=False) as world:
        yield world


@pytest.fixture(scope="session")
def hub() -> Iterator[Hub]:
    """A JupyterHub with two courses, which runs as long as the tests; only root can start it."""
    with running_hub({"hpc": (["iris"], ["ada", "bob"]), "ml": (["noor"], ["cleo"])}) as hub:
        yield hub


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Debian's Chromium, without a window. Each test makes contexts of its own in it: nothing is shared.

    It ends with the module: Playwright holds an event loop that runs as long as it is there, and a second Playwright,
    or whatever else wants a loop of its own, fails beside it.
    """
    from playwright.sync_api import sync_playwright  # most tests need no browser

    program = shutil.which("chromium")
    assert program, "these tests need chromium: ./lockstep test installs it, or tells how"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=CHROMIUM)
        yield browser
        browser.close()
