"""Records of runs in batch, by themselves and on a real Slurm: an honest one passes, each other gets its finding."""

from __future__ import annotations

import copy
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from batch_lab import NAME, changed, fetched, make_course
from classroom import Classroom
from slurm_cluster import running_cluster

from autograde.contract.check import Demand
from autograde.sandbox.untrusted import problem
from autograde.slurm import accounting
from autograde.slurm.accounting import Job, look_up
from autograde.slurm.record_verdict import by_accounting, by_itself, by_rerun, read_record, record_schema, run_of
from course.batch.record import REPORTS, record
from course.processes.slurm_command import SlurmError

DEMAND = Demand(ranks=2)
CODE = {"rate": "1" * 64, "descend": "2" * 64}
LOSSES = [2.3, 1.9, 0.7]
JOB = Job("nobody", "COMPLETED", ("node1", "node2"), 4, 4, 1000.0, 1101.0)


def honest() -> dict:
    """A record as a run leaves it."""
    return {
        "format": 1,
        "lab": NAME,
        "state": "completed",
        "job": {"id": "7", "user": "nobody", "cluster": "c", "nodes": ["node1", "node2"], "ranks": 4, "restarts": 0},
        "launcher": "srun",
        "began": 1001.0,
        "ended": 1100.0,
        "seconds": 99.0,
        "versions": {"python": "3.11.7"},
        "code": dict(CODE),
        "cells": {"run": 6, "failed": [], "not_run": []},
        "errors": [],
        "runs": [
            {
                "todo": "descend",
                "ranks": 4,
                "places": [{"node": f"node{1 + rank // 2}", "device": "CPU"} for rank in range(4)],
                "samples": 100,
                "data": "digits",
                "epochs": [
                    {"epoch": epoch, "loss": loss, "accuracy": 0.5, "seconds": 2.0} for epoch, loss in enumerate(LOSSES)
                ],
                "throughput": 50.0,
            }
        ],
    }


def read(tmp_path: Path, made: object) -> object:
    """What is read of a file with this in it."""
    (tmp_path / "run.json").write_text(made if isinstance(made, str) else json.dumps(made))
    return read_record(tmp_path)


def test_an_honest_record_passes(tmp_path):
    given = read(tmp_path, honest())
    assert problem(record_schema(), honest()) is None
    assert by_itself(DEMAND, "descend", NAME, given, CODE) is None
    assert by_accounting("descend", given.record, JOB, "nobody") is None
    assert by_rerun(run_of(given.record, "descend"), [loss * 1.001 for loss in LOSSES]) is None


def setting(*path: object, to: object) -> Callable[[dict], None]:
    """What changes one place of a record."""

    def change(made: dict) -> None:
        for step in path[:-1]:
            made = made[step]
        made[path[-1]] = to

    return change


RUN, EPOCHS = ("runs", 0), ("runs", 0, "epochs")


@pytest.mark.parametrize(
    ("change", "key"),
    [
        (setting("lab", to="03_pi_allreduce"), "record-of-another-lab"),
        (setting("job", to=None), "not-in-batch"),
        (setting("code", "rate", to="3" * 64), "other-code"),
        (setting("code", to={}), "other-code"),
        (setting("state", to="stopped"), "run-failed"),
        (setting("state", to="failed"), "run-failed"),
        (setting("runs", to=[]), "nothing-on-record"),
        (setting(*RUN, "todo", to="other"), "nothing-on-record"),
        (setting(*EPOCHS, to=[]), "nothing-on-record"),
        (setting(*RUN, "ranks", to=1), "too-few-ranks"),
        (setting(*RUN, "ranks", to=8), "edited-record"),
        (setting("job", "nodes", to=["node1"]), "edited-record"),
        (setting("job", "ranks", to=2), "edited-record"),
        (setting("seconds", to=50.0), "edited-record"),
        (setting(*EPOCHS, 0, "seconds", to=500.0), "edited-record"),
        (setting(*EPOCHS, 0, "epoch", to=5), "edited-record"),
        (setting(*RUN, "throughput", to=5000.0), "edited-record"),
        (setting(*EPOCHS, 2, "loss", to=2.3), "loss-not-falling"),
        (setting(*EPOCHS, 1, "loss", to=None), "loss-not-falling"),
        (setting("format", to=2), "damaged-record"),
        (setting("job", "id", to="7; rm"), "damaged-record"),
        (setting("more", to=1), "damaged-record"),
        (setting(*EPOCHS, 0, "loss", to="2.3"), "damaged-record"),
        (setting(*EPOCHS, 0, "loss", to=float("nan")), "damaged-record"),
    ],
)
def test_what_a_record_tells_of_itself_gets_its_finding(tmp_path, change, key):
    made = honest()
    change(made)
    found = by_itself(DEMAND, "descend", NAME, read(tmp_path, made), CODE)
    assert found.key == key, found


def test_outside_of_a_batch_run_a_notebook_speaks_of_sbatch_only_where_there_is_one(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv(REPORTS, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    for said in ("", "To have a run on record, run this notebook in batch: `sbatch run.sh` in its folder.\n"):
        record("descend", None, [{"epoch": 0, "loss": 0.5}], samples=1, data="none")
        assert capsys.readouterr().out == said
        (tmp_path / "sbatch").touch(mode=0o755)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "[" * 10000, "\ud800", '{"format": 1, "format": 1}'])
def test_a_file_that_is_no_record_is_told(tmp_path, text):
    (tmp_path / "run.json").write_bytes(text.encode("utf-8", "surrogatepass"))
    assert by_itself(DEMAND, "descend", NAME, read_record(tmp_path), CODE).key == "damaged-record"


def test_links_pipes_and_large_files_are_not_read(tmp_path):
    (tmp_path / "elsewhere.json").write_text(json.dumps(honest()))
    folder = tmp_path / "handed in"
    folder.mkdir()
    record = folder / "run.json"
    for make in (
        lambda: record.symlink_to(tmp_path / "elsewhere.json"),
        lambda: os.mkfifo(record),
        lambda: record.write_bytes(b" " * 2**21),
        lambda: record.mkdir(),
    ):
        make()
        assert by_itself(DEMAND, "descend", NAME, read_record(folder), CODE).key == "damaged-record"
        shutil.rmtree(record) if record.is_dir() else record.unlink()
    assert by_itself(DEMAND, "descend", NAME, read_record(folder), CODE).key == "no-record"


@pytest.mark.parametrize(
    ("job", "key"),
    [
        (None, "job-unknown"),
        ({"user": "games"}, "not-your-job"),
        ({"began": 5000.0, "ended": 5100.0}, "replayed-record"),
        ({"ended": 9000.0}, "replayed-record"),
        ({"ended": 1010.0}, "replayed-record"),
        ({"nodes": ("node1",)}, "edited-record"),
        ({"tasks": 2}, "edited-record"),
        ({"tasks": 8}, "edited-record"),
        ({"tasks": None, "cpus": 2}, "edited-record"),
        ({"state": "TIMEOUT"}, "edited-record"),
        ({"state": "RUNNING", "ended": None}, None),
        ({"tasks": None}, None),
    ],
)
def test_what_slurm_knows_is_held_against_a_record(job, key):
    known = None if job is None else Job(**{**JOB.__dict__, **job})
    found = by_accounting("descend", honest(), known, "nobody")
    assert (found and found.key) == key


def test_other_losses_than_the_same_cells_give_are_told():
    run = run_of(honest(), "descend")
    for place in range(3):
        again = copy.copy(LOSSES)
        again[place] *= 1.02
        assert by_rerun(run, again).key == "edited-record"
    assert by_rerun(run, [LOSSES[0], None]).key == "edited-record"


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """A folder that all users may enter, with a running cluster in its `slurm`."""
    if os.geteuid() != 0 or not shutil.which("slurmctld"):
        pytest.skip("starting Slurm takes root and slurmctld")
    with running_cluster() as place:
        yield place


@pytest.fixture(scope="module")
def room(place: Path) -> Classroom:
    """A class that has handed in: `nobody` an honest record of a job, the others what their names tell of.

    All but `games`, who has a copy, have their jobs by the account `nobody`.
    """
    lab = make_course(place / "course")
    student = fetched("nobody", lab, place / "nobody", place / "slurm" / "slurm.conf")
    _, status = student.batch("--ntasks=2")
    assert status == 0, student.logs()
    other = student.run("sbatch", "--parsable", "--ntasks=2", "--wrap=true").stdout.strip()
    honest, text = student.record(), student.notebook.read_bytes()
    changed(student, "rate", "def rate(ranks):\n    return 0.2")
    later = student.notebook.read_bytes()
    changes = {
        "nobody": None,
        "games": None,
        "losses": setting(*EPOCHS, 2, "loss", to=1.0),
        "replayed": setting("job", "id", to=other),
        "later": None,
        "without": None,
    }
    names = {name: "nobody" for name in changes if name != "games"}
    room = Classroom(place / "course", NAME, f"c.Judge.accounts = {names!r}")
    assert room.lockstep("build").exit_code == 0
    for name, change in changes.items():
        folder = room.put(name, later if name == "later" else text)
        made = copy.deepcopy(honest)
        if change:
            change(made)
        if name != "without":
            (folder / "run.json").write_text(json.dumps(made))
    return room


@pytest.mark.thorough
def test_a_class_is_graded_by_what_slurm_and_the_same_cells_say(place, room, monkeypatch):
    monkeypatch.setenv("SLURM_CONF", str(place / "slurm" / "slurm.conf"))
    done = room.grade("--seed", "1")
    assert done.exit_code == 0, done.output
    rows = room.rows()
    assert {name: row["findings"] for name, row in rows.items()} == {
        "nobody": "",
        "games": "descend:not-your-job",
        "losses": "descend:edited-record",
        "replayed": "descend:replayed-record",
        "later": "descend:other-code",
        "without": "descend:no-record",
    }
    assert {name: float(row["score"]) for name, row in rows.items()} == {
        name: 4 if name == "nobody" else 3 for name in rows
    }
    assert "same job" in rows["games"]["problems"]
    assert "give 3.686" in room.feedback("losses")


@pytest.mark.thorough
def test_where_slurm_is_not_it_says_what_it_did_not_check(room, monkeypatch):
    monkeypatch.setenv("SLURM_CONF", "/nonexistent/slurm.conf")
    room.grade("--seed", "1", "--force", *("--student=games", "--student=losses", "--student=nobody"))
    rows = room.rows()
    assert (rows["nobody"]["findings"], rows["games"]["findings"]) == ("", "")
    assert rows["losses"]["findings"] == "descend:edited-record", "the same cells can be run anywhere"
    assert "not checked" in rows["games"]["problems"]
    assert "not checked" in room.feedback("games")


@pytest.mark.thorough
def test_accounting_tells_a_job_by_squeue_and_later_by_sacct(place, room, monkeypatch):
    monkeypatch.setenv("SLURM_CONF", str(place / "slurm" / "slurm.conf"))
    told = json.loads((room.root / "class/submitted/nobody" / NAME / "run.json").read_text())["job"]
    recent = look_up(told["id"], told["cluster"])
    assert (recent.user, recent.state, recent.nodes, recent.tasks) == ("nobody", "COMPLETED", ("node1",), 2)
    ended = accounting.from_sacct(told["id"], {"JobCompType": "jobcomp/filetxt"})
    assert (ended.user, ended.state, ended.nodes, ended.cpus) == ("nobody", "COMPLETED", ("node1",), 2)
    assert abs(ended.began - recent.began) < 2
    assert look_up("99999", told["cluster"]) is None
    with pytest.raises(SlurmError, match="cluster"):
        look_up(told["id"], "another")
