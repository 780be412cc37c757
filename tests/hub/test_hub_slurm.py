"""People's servers as jobs of a Slurm cluster, with the ranks of their worlds in the same job."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hub_client import Session
from running_hub import REPOSITORY, Hub, running_hub
from slurm_cluster import eventually, running_cluster, slurm
from unix_accounts import with_accounts, with_python

pytestmark = [*with_accounts, pytest.mark.thorough]
CONFIG = """
load_subconfig({ours!r})
c = get_config()
# Both nodes are this machine, which does not know their names.
c.SlurmSpawner.batch_query_cmd = "squeue -h -j {{job_id}} -o '%T localhost'"
"""
RANKS = """
from course.world import World
world = World(4, progress=False)
print(world.run(lambda: __import__("os").environ["SLURM_JOB_ID"]))
"""


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    config = tmp_path / "on_slurm.py"
    config.write_text(CONFIG.format(ours=str(REPOSITORY / "course" / "jupyterhub" / "slurm_config.py")))
    with running_cluster(*with_python()) as cluster:
        monkeypatch.setenv("SLURM_CONF", str(cluster / "slurm" / "slurm.conf"))
        with running_hub({"hpc": (["iris"], ["ada"])}, "--config", str(config)) as hub:
            yield hub


def jobs_of(user: str) -> list[str]:
    """Numbers and names of somebody's jobs."""
    return slurm("squeue", "--noheader", "--states=PENDING,RUNNING", f"--user={user}", "--format=%i %j").splitlines()


def test_a_server_and_its_ranks_are_one_job_which_ends_with_it(hub: Hub):
    ada = Session(hub, hub.name("ada"))
    ada.log_in(hub.password("ada"))
    ada.start_server()
    ((number, name),) = [line.split() for line in jobs_of(ada.name)]
    assert name == "jupyterhub"
    kernel = ada.start_kernel()
    assert kernel.run(RANKS) == f"{[number] * 4}\n"
    ada.stop_server()
    assert eventually(lambda: not jobs_of(ada.name)), "the job goes on"
