"""Each lab's solved notebook as the job that students hand in by: `sbatch run.sh`, on two nodes with two ranks each.

    slurm/local/cluster start /tmp/cluster && export SLURM_CONF=/tmp/cluster/slurm.conf
    python bench/two_nodes.py [LAB ...]
    slurm/local/cluster clean /tmp/cluster

It prints, for each lab, the state in the record of its run, on how many nodes, how many cells ran, and the seconds from
the submission to the end. It ends with 1 if a job did not complete, or if a cell raised or was left out.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tqdm import tqdm

from autograde.labs.folder import Lab, find_lab, find_labs
from autograde.labs.places import REPOSITORY
from autograde.making.solved import write_solved
from course.batch.record import FILE
from course.processes.slurm_command import output

LAYOUT = ("--nodes=2", "--ntasks=4", "--ntasks-per-node=2")
ENDED = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY")


def submitted(lab: Lab, folder: Path) -> str:
    """The number of the job that runs the solved lab, which is written into `folder`."""
    write_solved(lab, folder)
    env = {**os.environ, "LOCKSTEP_HOME": str(REPOSITORY), "LOCKSTEP_PYTHON": sys.executable}
    command = ["sbatch", "--parsable", *LAYOUT, "run.sh"]
    return subprocess.run(command, cwd=folder, env=env, check=True, capture_output=True, text=True).stdout.strip()


def state(job: str) -> str:
    """What Slurm says of a job."""
    return output("squeue", "--noheader", "--states=all", f"--jobs={job}", "--Format=State:20").strip()


def run(lab: Lab) -> tuple[str, bool]:
    """A line on the lab's job, and whether all is as it must be."""
    with tempfile.TemporaryDirectory(prefix="two-nodes-") as scratch:
        folder, began = Path(scratch, lab.name), time.monotonic()
        folder.mkdir()
        job = submitted(lab, folder)
        while state(job) not in ENDED:
            time.sleep(0.2)
        seconds, path = time.monotonic() - began, folder / FILE
        if not path.exists():
            log = "\n".join(each.read_text() for each in folder.glob(f"{lab.name}.out.{job}"))
            return f"{lab.name}: {state(job)}, and no {FILE}:\n{log[-2000:]}", False
        made = json.loads(path.read_text())
    cells, nodes = made["cells"], len(made["job"]["nodes"])
    line = f"{lab.name}: {made['state']}, {made['job']['ranks']} ranks on {nodes} nodes, {cells['run']} cells ran"
    for what in ("failed", "not_run"):
        line += f", {what}: {', '.join(map(str, cells[what]))}" if cells[what] else ""
    return f"{line}, {seconds:.0f} s", made["state"] == "completed" and not cells["failed"] + cells["not_run"]


def main() -> None:
    """Run the labs one after another, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("labs", nargs="*", metavar="LAB")
    options = parser.parse_args()
    labs = [find_lab(REPOSITORY, name) for name in options.labs] or find_labs(REPOSITORY)
    well = True
    for lab in (bar := tqdm(labs, unit="lab")):
        bar.set_description(lab.name)
        line, fine = run(lab)
        tqdm.write(line)
        well &= fine
    sys.exit(0 if well else 1)


if __name__ == "__main__":
    main()
