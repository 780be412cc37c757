"""A small lab whose training is put on record, and what runs it on a real Slurm, as ordinary users."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import site
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import nbformat
from lab_packages import write_package

from autograde.labs.folder import Lab, find_lab
from autograde.making.build import build

REPOSITORY = Path(__file__).resolve().parents[2]
NAME = "91_descent"

LAB_PY = '''
# %% [markdown]
# # A small training

# %%
import time

from autograde.notebook import Checker, needs
from course.batch.record import record
from course.world import COMM, World

world = World(2)
check = Checker(world)


# %% todo="rate"
def rate(ranks):
    """Length of a step."""
    ### BEGIN SOLUTION
    return 0.1
    ### END SOLUTION


# %% check="rate"
check("rate")


# %% todo="descend"
def descend(comm, epochs):
    """Losses of gradient descent on the mean of x squared; each of 12 numbers is on one rank."""
    ### BEGIN SOLUTION
    x, history = 3.0, []
    for epoch in range(epochs):
        history.append({"epoch": epoch, "loss": comm.allreduce(x * x) / comm.size, "seconds": 0.01})
        x -= rate(comm.size) * 2 * x
    return history
    ### END SOLUTION


# %% check="descend"
check("descend")

# %%
def batch_training(comm, epochs, checkpoint):
    """What torchrun calls: as many epochs, of which each rank knows."""
    import torch.distributed as dist

    dist.init_process_group("gloo")
    ranks = comm.allgather(dist.get_rank())
    history = [{"epoch": epoch, "loss": sum(ranks) / (epoch + 1)} for epoch in range(epochs)]
    return {"todo": "descend", "history": history, "samples": 12, "data": "twelve"}


with needs("rate", "descend"):
    record("descend", world, world.run(descend, COMM, 3)[0], samples=12, data="twelve")
'''

CHECKS_PY = """
# == __init__.py
RANKS = 2
# == rate.py
from autograde.rubric import CallCheck, Criterion, Words

from ..probes import rate

words = Words("no-number: It is no number.")


def returns_number(call):
    return words("no-number") if call.seen[0].value.value is None else None


CHECK = CallCheck.of(
    "rate", rate.PROBE, lambda rng: [(None, {})], Criterion("number", 1, "it returns a number", returns_number)
)
# == descend.py
from autograde.rubric import CallCheck, Criterion, RecordCriterion, Words

from ..probes import descend

words = Words("other-losses: These are other losses.")


def right_losses(call):
    due = [9 * 0.25**epoch for epoch in range(call.arguments["epochs"])]
    return None if call.seen[0].losses == due else words("other-losses")


CHECK = CallCheck.of(
    "descend",
    descend.PROBE,
    lambda rng: [(2, {"epochs": rng.randint(2, 5)})],
    Criterion("losses", 2, "it returns the losses of all epochs", right_losses),
    RecordCriterion(1, "run.json, from a job on two ranks or more, is handed in with the notebook", ranks=2),
    again=lambda run, most: {"size": 2, "again": True, "epochs": len(run["epochs"])},
)
"""

PROBES_PY = """
# == __init__.py
# == rate.py
from autograde.contract.call_probe import CallProbe
from autograde.contract.evidence import Evidence, Number


class Seen(Evidence):
    value: Number


def call(rate, rank, call):
    return Seen(Number.of(rate(2)))


PROBE = CallProbe(Seen, call)
# == descend.py
from autograde.contract.call_probe import CallProbe, Rerun
from autograde.contract.evidence import Evidence


class Seen(Evidence):
    losses: list[float]


def losses_of(descend, comm, epochs):
    return [entry["loss"] for entry in descend(comm, epochs)]


def names(rank, case):
    return {"rate": lambda ranks: 0.25}


def call(descend, rank, call):
    return Seen(losses_of(descend, rank.comm, call["epochs"]))


def again(rank, case):
    return Rerun(losses_of(rank.subject.load_all(), rank.comm, case["epochs"]), "twelve")


PROBE = CallProbe(Seen, call, names, again=again)
"""


def make_course(root: Path) -> Lab:
    """Write a course with this lab to `root`."""
    folder = root / "solutions" / NAME
    folder.mkdir(parents=True)
    (folder / "lab.py").write_text(LAB_PY.lstrip("\n"))
    write_package(folder / "checks", CHECKS_PY)
    write_package(folder / "probes", PROBES_PY)
    write_package(folder / "variants", "# == __init__.py\n")
    return find_lab(root, NAME)


def python_for_all() -> dict[str, str]:
    """What lets any account run our Python; it may lie below a home, as pyenv's does, where the system's must do."""
    base = Path(sys.executable).resolve()
    if all(folder.stat().st_mode & 0o001 for folder in base.parents):
        return {}
    return {
        "LOCKSTEP_PYTHON": shutil.which(f"python3.{sys.version_info.minor}", path="/usr/bin") or "",
        "PYTHONPATH": site.getsitepackages()[0],
    }


@dataclass(frozen=True)
class Account:
    """An ordinary account of this machine, and its folder of the lab."""

    name: str
    folder: Path
    conf: Path

    @property
    def notebook(self) -> Path:
        """The lab's notebook."""
        return self.folder / f"{NAME}.ipynb"

    def record(self) -> dict:
        """The record that a run has left."""
        return json.loads((self.folder / "run.json").read_text())

    def logs(self) -> str:
        """All logs of runs."""
        return "\n".join(path.read_text() for path in self.folder.glob(f"{NAME}.out.*[0-9]"))

    def run(self, *command: str, home: Path | None = REPOSITORY) -> subprocess.CompletedProcess[str]:
        """Run a command in the folder, as this account. home: of Lockstep, in the environment."""
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "SLURM_CONF": str(self.conf)}
        environment |= {"LOCKSTEP_HOME": str(home)} if home else {}
        environment |= python_for_all() if home else {}
        entry = pwd.getpwnam(self.name)
        who = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []} if os.geteuid() == 0 else {}
        return subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=240, **who
        )

    def submit(self, *options: str, home: Path | None = REPOSITORY) -> str:
        """Submit the lab's job, and return its number."""
        done = self.run("sbatch", "--parsable", *options, "run.sh", home=home)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def batch(self, *options: str, home: Path | None = REPOSITORY) -> tuple[str, int]:
        """Submit the lab's job, wait for its end, and return its number and exit status.

        `sbatch --wait` looks after 2 seconds, 8 and 32.
        """
        job = self.submit(*options, home=home)
        until = time.monotonic() + 250
        while time.monotonic() < until:
            said = self.run("squeue", "--noheader", "--states=all", f"--jobs={job}", "--Format=State:20,exit_code:9")
            state, code = said.stdout.split()
            if state not in ("PENDING", "CONFIGURING", "RUNNING", "COMPLETING"):
                status, colon, _ = code.partition(":")  # Slurm 24 writes "2:0", Slurm 22 what wait(2) gives
                return job, int(status) if colon else int(code) >> 8
            time.sleep(0.2)
        raise TimeoutError(f"job {job} does not come to its end")


def fetched(name: str, lab: Lab, folder: Path, conf: Path, solved: bool = True) -> Account:
    """The lab as this account has it, with its answers or blank."""
    folder.mkdir(parents=True)
    built = build(lab)
    for file_name, file in (built.instructor if solved else built.student).items():
        (folder / file_name).parent.mkdir(exist_ok=True)
        (folder / file_name).write_bytes(file.content)
        (folder / file_name).chmod(0o755 if file.executable else 0o644)
    for path in (folder, *folder.rglob("*")):
        shutil.chown(path, name)
    return Account(name, folder, conf)


def changed(account: Account, todo: str, source: str) -> None:
    """Write another text into a TODO's cell."""
    notebook = nbformat.read(account.notebook, as_version=4)
    next(cell for cell in notebook.cells if cell.id == todo).source = source
    nbformat.write(notebook, account.notebook)
