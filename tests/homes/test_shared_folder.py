"""A world in a Slurm job has its files in the home, unless told otherwise: where they have no room, that is said."""

from __future__ import annotations

import os

import pytest
from odd_homes import fill, volume

from course.processes.launchers.slurm import SHARED, Slurm, WorldError


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a volume")
def test_a_full_home_is_named_before_ranks_are_started(tmp_path, monkeypatch):
    with volume(tmp_path / "home", "1m", 0) as home:
        monkeypatch.delenv(SHARED, raising=False)
        monkeypatch.setenv("HOME", str(home))
        (home / ".lockstep" / "worlds").mkdir(parents=True)
        fill(home)
        with pytest.raises(WorldError, match=f"no place for a world's files in {home}.*: No space left on device"):
            Slurm(2, None).make_folder()
        assert [*(home / ".lockstep" / "worlds").iterdir()] == []
