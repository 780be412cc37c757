"""Fixtures of all tests. A world takes seconds to start, so tests share one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from labs_under_test import COURSE
from running_hub import Hub, running_hub
from slurm_cluster import running_cluster
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from autograde.contract.labs import Lab, LabError, find_lab
from course.processes.slurm import SHARED
from course.world import World


class TwoGroups(LoadScopeScheduling):
    """Of the tests of hub and browser one at a time, and beside it one of the others."""

    def _split_scope(self, nodeid: str) -> str:
        return "hub" if nodeid.startswith(("tests/hub/test_hub_", "tests/browser/")) else "machine"


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> TwoGroups | None:
    """What `--dist loadscope` does here. (Marks for `--dist loadgroup` are not heard by xdist 3.8 with pytest 9.)"""
    return TwoGroups(config, log) if config.getvalue("dist") == "loadscope" else None


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--lab NAME`: only the tests that each lab has to pass, of this lab."""
    parser.addoption("--lab", metavar="NAME", help="run only the tests of this lab: its build, checks and notebook")


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
    if marks in ("side_by_side", "alone"):
        unwanted = f"mark.{marks}" not in source
    else:
        unwanted = "not side_by_side" in marks and re.search(
            r"^pytestmark = .*mark\.side_by_side", source, re.MULTILINE
        )
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
