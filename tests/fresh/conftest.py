"""A fresh system of each distribution, in which all tests of this folder are run, one distribution after the other."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from fresh_system import DISTRIBUTIONS, FreshSystem, copy_kit, make_root, packages_that_the_readme_names

# Setting up takes ten minutes on two cores, most of which are spent compiling Horovod.
SECONDS = 3600


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A set-up may take longer than the other tests' limit."""
    for item in items:
        if "tests/fresh/" in item.nodeid:
            item.add_marker(pytest.mark.timeout(SECONDS))


@pytest.fixture(scope="session", params=DISTRIBUTIONS, ids=lambda distribution: distribution.suite)
def fresh(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FreshSystem]:
    """A system with the packages that README.md names, in which the account `student` has run `./lockstep setup`.

    Systems are kept in the folder that LOCKSTEP_FRESH names, and are used again from there; else they are removed.
    """
    if request.param.lacks:
        pytest.skip(request.param.lacks)
    kept = os.environ.get("LOCKSTEP_FRESH")
    folder = Path(kept) / request.param.suite if kept else tmp_path_factory.mktemp(request.param.suite) / "root"
    system = FreshSystem(folder, request.param)
    if not system.root.exists():
        make_root(request.param, packages_that_the_readme_names(), system.root)
    copy_kit(system.root / system.kit[1:])
    status, output = system.run("./lockstep", "setup", seconds=SECONDS)
    assert status == 0, output
    yield system
    if not kept:
        shutil.rmtree(system.root)


@pytest.fixture(scope="session", params=DISTRIBUTIONS, ids=lambda distribution: distribution.suite)
def bare(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FreshSystem]:
    """A system without any of the packages that README.md names: no Python, no compiler."""
    if request.param.lacks:
        pytest.skip(request.param.lacks)
    system = FreshSystem(tmp_path_factory.mktemp(request.param.suite) / "root", request.param)
    make_root(request.param, [], system.root)
    copy_kit(system.root / system.kit[1:])
    yield system
    shutil.rmtree(system.root)
