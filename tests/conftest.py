"""Fixtures of all tests. A world takes seconds to start, so tests share one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from running_hub import Hub, running_hub
from slurm_cluster import running_cluster
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from course.slurm import SHARED
from course.world import World


class TwoGroups(LoadScopeScheduling):
    """Of the tests of hub and browser one at a time, and beside it one of the others."""

    def _split_scope(self, nodeid: str) -> str:
        return "hub" if nodeid.startswith(("tests/test_hub_", "tests/browser/")) else "machine"


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> TwoGroups | None:
    """What `--dist loadscope` does here. (Marks for `--dist loadgroup` are not heard by xdist 3.8 with pytest 9.)"""
    return TwoGroups(config, log) if config.getvalue("dist") == "loadscope" else None


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
