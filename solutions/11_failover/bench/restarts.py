"""How long a training stands still until it goes on: under torchrun after a kill, and on Slurm after a requeue.

    slurm/local/cluster start /tmp/cluster && export SLURM_CONF=/tmp/cluster/slurm.conf
    python solutions/11_failover/bench/restarts.py [--times 4]

Both train the lab's model by its solution on two ranks. Under torchrun one of them kills itself; torchrun ends the
other, and starts both anew. On Slurm the job of `sbatch requeue.sh` gets the SIGUSR2 that comes before the time limit,
here by `scancel --signal`: the ranks agree, save and leave, and the job queues itself again. Prints seconds from the
kill or the signal to the first step after it, by parts, and how many times as long as `python -c "import torch"` that
is. Where no Slurm answers, its half is left out.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from contextlib import chdir
from itertools import pairwise
from pathlib import Path
from statistics import median

import nbformat
import torch.distributed as dist

from autograde.labs.places import REPOSITORY
from autograde.making.solved import solved_notebook
from course.batch.launched import by_torchrun
from course.batch.torchrun_rank import definitions
from course.processes.surroundings.machine import cores

HERE = Path(__file__).resolve().parent
LAB = HERE.parent.name
RANKS = 2
STEPS = 6  # in an attempt, before the kill; there is a checkpoint after every fifth step
MOST = 5  # times that requeue.sh queues itself again
PATIENCE = 150.0  # seconds until an attempt must have made a step; a cluster's default keeps a requeued job for 120
CELL = """
from noted_attempts import noted


def requeued_training(folder, epochs, seconds, train_it=requeued_training):
    attempt = os.environ.get("SLURM_RESTART_COUNT", "0")
    return noted(folder, attempt, train_it, folder, epochs, seconds)
"""
TORCHRUN = ("the kill", "new processes", "their process group", "their first step")
SLURM = ("the signal", "ranks have saved and left", *TORCHRUN[1:])


def attempt_of_torchrun(training, folder: str, times: int) -> None:
    """On a rank of torchrun: the lab's training; the last rank kills itself in all attempts but the last."""
    from noted_attempts import noted

    attempt = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    kill = attempt < times and dist.get_rank() == RANKS - 1
    noted(folder, str(attempt), training, folder, f"notes-{attempt}", STEPS - 1, kill_at=STEPS if kill else 0)


def by_kills(folder: Path, times: int) -> list[list[float]]:
    """Under torchrun: for each kill, the moments of TORCHRUN."""
    lab = definitions(solved_notebook(LAB, folder), "training")
    lab["EPOCHS"] = times + 1  # of 12 steps; `training` looks there
    with chdir(folder):  # where ranks find what the notebook imports of its lab
        launch = by_torchrun(attempt_of_torchrun, lab["training"], str(folder), times, ranks=RANKS, restarts=times)
    if launch.error:
        sys.exit(f"torchrun: {launch.error}")
    attempts = [whens(folder, attempt, RANKS) for attempt in range(times + 1)]
    return [[before["killed"], after["process"], after["group"], after["step"]] for before, after in pairwise(attempts)]


def by_signals(folder: Path, times: int) -> list[list[float]]:
    """On Slurm: for each signal, the moments of SLURM."""
    path = solved_notebook(LAB, folder)
    notebook = nbformat.read(path, as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell(CELL))
    nbformat.write(notebook, path)
    shutil.copy(HERE.parent / "requeue.sh", folder)
    variables = {"LOCKSTEP_HOME": str(REPOSITORY), "LOCKSTEP_PYTHON": sys.executable, "EPOCHS": "1000"}
    job = slurm("sbatch", "--parsable", f"--ntasks={RANKS}", "--time=10", "requeue.sh", cwd=folder, variables=variables)
    found = []
    try:
        wait_for(folder, 0, "step")
        for attempt in range(times):
            signalled = time.time()
            slurm("scancel", "--signal=USR2", job)
            before, after = wait_for(folder, attempt, "end"), wait_for(folder, attempt + 1, "step")
            found.append([signalled, before["end"], after["process"], after["group"], after["step"]])
    finally:
        slurm("scancel", job)
    return found


def whens(folder: Path, attempt: int, ranks: int) -> dict[str, float]:
    """When the last rank of an attempt had come to each thing that `noted` names; without those to which not all have
    come. ("killed": when one was.)"""
    found: dict[str, list[float]] = defaultdict(list)
    for path in folder.glob(f"attempt-{attempt}-rank-*"):
        for line in path.read_text().splitlines():
            what, when = json.loads(line)
            found[what].append(when)
    return {what: max(of) for what, of in found.items() if len(of) == (1 if what == "killed" else ranks)}


def slurm(*command: str, cwd: Path | None = None, variables: dict[str, str] | None = None) -> str:
    """What one of Slurm's commands prints. Raises CalledProcessError."""
    environment = {**os.environ, **(variables or {})}
    return subprocess.run(
        command, cwd=cwd, env=environment, check=True, stdout=subprocess.PIPE, text=True
    ).stdout.strip()


def wait_for(folder: Path, attempt: int, what: str) -> dict[str, float]:
    """What an attempt has noted, as soon as all of its ranks have come to `what`. Raises SystemExit if they do not."""
    end = time.monotonic() + PATIENCE
    while what not in (found := whens(folder, attempt, RANKS)):
        if time.monotonic() > end:
            logs = [path.read_text()[-2000:] for path in folder.glob("*.requeue.*")]
            sys.exit(f"attempt {attempt} has not come to '{what}' within {PATIENCE:.0f} s\n{logs}")
        time.sleep(0.1)
    return found


def bare() -> float:
    """Seconds of a Python that imports torch and ends."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import torch"], check=True)
    return time.perf_counter() - began


def table(names: tuple[str, ...], moments: list[list[float]], base: float) -> str:
    """Seconds between the moments, least and median of all times, and their sums. base: seconds of one unit."""
    steps = zip(pairwise(names), parts(moments), strict=True)
    rows = [(f"{until}, since {since}", seconds) for (since, until), seconds in steps]
    rows.append((f"{names[-1]}, since {names[0]}", [each[-1] - each[0] for each in moments]))
    lines = [f"{'':52} {'least':>8} {'median':>8} {'x import torch':>15}"]
    lines += [f"{name:52} {min(own):6.1f} s {median(own):6.1f} s {median(own) / base:15.1f}" for name, own in rows]
    return "\n".join(lines)


def parts(moments: list[list[float]]) -> list[list[float]]:
    """Seconds between each two neighbours of the moments, each in all times."""
    return [list(column) for column in zip(*([b - a for a, b in pairwise(each)] for each in moments), strict=True)]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--times", type=int, default=4, choices=range(1, MOST + 1), help="kills, and signals (default: 4)"
    )
    times = parser.parse_args().times
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH")]))  # of all ranks
    bare()  # once unmeasured, so that files are in memory
    base = median(bare() for _ in range(5))
    print(f"{RANKS} ranks on {cores()} cores, {times} times; a Python that imports torch takes {base:.1f} s")
    with tempfile.TemporaryDirectory() as folder:
        print(f"\ntorchrun\n{table(TORCHRUN, by_kills(Path(folder), times), base)}", flush=True)
    if not shutil.which("sinfo") or subprocess.run(["sinfo"], capture_output=True).returncode:
        print("\nno Slurm answers here, so no job is queued again")
        return
    with tempfile.TemporaryDirectory(dir=Path.home()) as folder:  # which all nodes see
        print(f"\nSlurm\n{table(SLURM, by_signals(Path(folder), times), base)}")
    settings = slurm("scontrol", "show", "config")
    (expire,) = re.findall(r"cred_expire=(\d+)", settings) or ["120"]
    print(f"of this, Slurm's own wait before a requeued job may begin: {expire} s (AuthInfo's cred_expire)")


if __name__ == "__main__":
    main()
